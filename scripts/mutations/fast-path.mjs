// The fast path in front of node:http.
import { S } from './folders.mjs'

export const fastPath = [
  {
    name: 'a head with two lengths is read',
    file: `${S}transports/rest/fast/http-head.ts`,
    find: '    if (this.#lengths++ > 0 || to === from',
    replace: '    if (this.#lengths++ < 0 || to === from',
    also: { find: 'return this.#lengths === 1 && ', replace: 'return this.#lengths > 0 && ' },
    test: {
      file: `${S}transports/rest/fast/http-head.property.test.ts`,
      name: "the head of a hot request is accepted only where node's parser accepts it, and read alike",
    },
  },
  {
    name: 'a length with a space after it is read',
    file: `${S}transports/rest/fast/http-head.ts`,
    find: ' || to - from > 7 || bytes[to] !== CR) return false',
    replace: ' || to - from > 7) return false',
    test: {
      file: `${S}transports/rest/fast/http-head.property.test.ts`,
      name: 'a length that not every parser reads alike is not accepted: "Content-Length: 2\\t\\r\\n"',
    },
  },
  {
    name: 'a head with a transfer encoding is read',
    file: `${S}transports/rest/fast/http-head.ts`,
    find: '        return !isName(bytes, start, TRANSFER_ENCODING) && ',
    replace: '        return ',
    test: {
      file: `${S}transports/rest/fast/http-head.property.test.ts`,
      name: "the head of a hot request is accepted only where node's parser accepts it, and read alike",
    },
  },
  {
    name: 'a line that does not end as it must is read',
    file: `${S}transports/rest/fast/http-head.ts`,
    find: '      if (bytes[at] !== CR || bytes[at + 1] !== LF) return HAND_OVER\n',
    replace: '      if (bytes[at] !== CR) return HAND_OVER\n',
    test: {
      file: `${S}transports/rest/fast/http-head.property.test.ts`,
      name: "the head of a hot request is accepted only where node's parser accepts it, and read alike",
    },
  },
  {
    name: 'a value with control characters is read',
    file: `${S}transports/rest/fast/http-head.ts`,
    find: '        if (byte < SPACE ? byte !== TAB : byte > 126) break\n',
    replace: '        if (byte === CR) break\n',
    test: {
      file: `${S}transports/rest/fast/http-head.property.test.ts`,
      name: "the head of a hot request is accepted only where node's parser accepts it, and read alike",
    },
  },
  {
    name: 'a head with two hosts is read',
    file: `${S}transports/rest/fast/http-head.ts`,
    find: '        if (this.hostEnd > 0 || to === from) return false\n',
    replace: '',
    test: {
      file: `${S}transports/rest/fast/http-head.property.test.ts`,
      name: "the head of a hot request is accepted only where node's parser accepts it, and read alike",
    },
  },
  {
    name: 'a head with an idempotency key is read',
    file: `${S}transports/rest/fast/http-head.ts`,
    find: ' && !isName(bytes, start, IDEMPOTENCY_KEY)\n',
    replace: '\n',
    test: {
      file: `${S}transports/rest/fast/http-head.property.test.ts`,
      name: "the head of a hot request is accepted only where node's parser accepts it, and read alike",
    },
  },
]
