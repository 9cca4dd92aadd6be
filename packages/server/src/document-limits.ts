/** How large a rules document may be that is sent to the control plane, unless the settings say otherwise. */
import { DOCUMENT_BODY_BYTES } from '@sluice/contract'

export interface DocumentLimits {
  readonly mostBytes: number
  /** Lists and objects within each other. */
  readonly deepest: number
}

export const DOCUMENT_LIMITS: DocumentLimits = { mostBytes: DOCUMENT_BODY_BYTES, deepest: 16 }
