/** How large a rules document may be that is sent to the control plane, unless the settings say otherwise. */
export interface DocumentLimits {
  readonly mostBytes: number
  /** Lists and objects within each other. */
  readonly deepest: number
}

export const DOCUMENT_LIMITS: DocumentLimits = { mostBytes: 16 * 1024 * 1024, deepest: 16 }
