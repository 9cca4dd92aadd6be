/** Who has a port, where the system tells: for the message that it is taken. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

export interface PortHolder {
  readonly pid: number
  readonly command: string
}

const LISTENING = '0A'

/** Null where it cannot be found out: another system, or another user's process. */
export function portHolder(port: number): PortHolder | null {
  try {
    const inodes = new Set(
      ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => inodesOf(file, port)),
    )
    if (inodes.size === 0) return null
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (!hasSocket(pid, inodes)) continue
      return { pid: Number(pid), command: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() }
    }
  } catch {
    // Not Linux.
  }
  return null
}

function inodesOf(file: string, port: number): string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(1)
    return lines.flatMap((line) => {
      const words = line.trim().split(/\s+/)
      return words[1]?.endsWith(wanted) === true && words[3] === LISTENING ? [words[9]!] : []
    })
  } catch {
    return []
  }
}

function hasSocket(pid: string, inodes: ReadonlySet<string>): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      const link = readlinkSync(`/proc/${pid}/fd/${fd}`)
      return link.startsWith('socket:[') && inodes.has(link.slice(8, -1))
    })
  } catch {
    return false
  }
}
