/**
 * The one-line grammar as a type, so that `'10/sce'` does not compile. It is a little wider than the
 * grammar (`${number}` also admits `1e3`); parsing decides.
 */
import type { CalendarUnit } from './limit.js'

type Amount =
  | `${number}`
  | `${number}k`
  | `${number}M`
  | `${number}_${number}`
  | `${number}_${number}_${number}`
type Unit = 's' | 'm' | 'min' | 'h' | 'd' | 'w'
type Duration = `${number}${Unit | 'ms'}`
type Rate = `${Amount}/${Unit}` | `${Amount} per ${Duration | Unit}`
type Modifier =
  | ''
  | ` burst ${Amount}`
  | ' sliding'
  | ' exact'
  | ' fixed'
  | ' smooth'
  | ` smooth ${Amount}`
  | ' queue'
  | ` queue ${Amount}`

export type LimitText =
  | `${Rate}${Modifier}`
  | `${Amount} per calendar ${CalendarUnit}`
  | `${Amount} per calendar ${CalendarUnit} in ${string}`
  | `${Amount} concurrent for ${Duration}`
