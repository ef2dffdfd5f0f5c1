// The parser of event streams: the standard's cases, any way to cut a stream into chunks, bounds.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type SseFrame, SseParser } from './sse.ts'

function parsed(
  chunks: readonly (string | Uint8Array)[],
  bounds?: ConstructorParameters<typeof SseParser>[0],
): SseFrame[] {
  const parser = new SseParser(bounds)
  const encoder = new TextEncoder()
  return chunks.flatMap(chunk => parser.push(typeof chunk === 'string' ? encoder.encode(chunk) : chunk))
}

const line = fc.stringMatching(/^[^\r\n]{0,12}$/)
const unicode = fc.string({ unit: 'binary', maxLength: 12 }).map(text => text.replaceAll(/[\r\n]/g, 'ä').toWellFormed())
const frame = fc.record({
  event: fc.stringMatching(/^[a-z.]{1,12}$/),
  id: fc.integer({ min: 1, max: 99 }).map(String),
  data: fc.array(fc.oneof(line, unicode), { minLength: 1, maxLength: 3 }).map(lines => lines.join('\n')),
})
const newline = fc.constantFrom('\n', '\r\n', '\r')

test('ALX-RUN-06 frames come out as they went in, whatever ends a line and however the bytes are cut into chunks', () => {
  const stream = fc.record({ frames: fc.array(frame, { maxLength: 4 }), newline, bom: fc.boolean(), comment: line })
  fc.assert(
    fc.property(stream, fc.array(fc.nat(), { maxLength: 20 }), ({ frames, newline, bom, comment }, cuts) => {
      const text = frames.map(({ event, id, data }) =>
        [
          `:${comment}`,
          `event: ${event}`,
          `id:${id}`,
          'retry: 5',
          'zz',
          ...data.split('\n').map(part => `data: ${part}`),
          '',
          '',
        ].join(newline),
      )
      const bytes = new TextEncoder().encode((bom ? '\ufeff' : '') + text.join(''))
      const at = [0, ...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
      const chunks = at.slice(1).map((end, index) => bytes.slice(at[index], end))
      expect(parsed(chunks)).toEqual(frames)
      expect(parsed(Array.from(bytes, byte => Uint8Array.of(byte)))).toEqual(frames)
    }),
    { numRuns: 300 },
  )
})

test('ALX-RUN-06 what the standard says of single lines', () => {
  const one = (data: string, more: Partial<SseFrame> = {}) => [{ event: 'message', data, id: '', ...more }]
  expect(parsed(['data\n\n'])).toEqual(one(''))
  expect(parsed(['\ufeffdata: a\n\n\ufeffdata: b\n\n'])).toEqual(one('a'))
  expect(parsed(['data:a\ndata: b\ndata:  c\n\n'])).toEqual(one('a\nb\n c'))
  expect(parsed([': only a comment\n\n', 'event: x\n\n', 'data: a\n\n'])).toEqual(one('a'))
  expect(parsed(['id: 1\ndata: a\n\ndata: b\n\n'])).toEqual([...one('a', { id: '1' }), ...one('b', { id: '1' })])
  expect(parsed(['id: 1\nid: 2\0\ndata: a\n\n'])).toEqual(one('a', { id: '1' }))
  expect(parsed(['data: a\r', '\ndata: b\r', '\r', '\n'])).toEqual(one('a\nb'))
  expect(parsed(['Data: a\ndata : b\n\n', 'data: end without a blank line\n'])).toEqual([])
  expect(parsed([Uint8Array.of(0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 10, 10)])).toEqual(one('\ufffd'))
})

test('a line or a frame above its bound is refused as soon as it is, complete or not', () => {
  const bounds = { lineBytes: 10, frameBytes: 20 }
  expect(parsed(['data: 7890\n\n'], bounds)).toHaveLength(1)
  for (const chunks of [['data: 78901\n'], ['data:', ' 7890', '1'], ['data: 789', '01\n']])
    expect(() => parsed(chunks, bounds)).toThrow(/a line of more than 10 bytes/)
  expect(parsed(['data: 7890\ndata: 7890\n\ndata: 7890\n\n'], bounds)).toHaveLength(2)
  expect(() => parsed(['data: 7890\ndata: 7890\ndata:\n'], bounds)).toThrow(/a frame of more than 20 bytes/)
})

test('a chunk whose memory is used again after it was parsed changes nothing', () => {
  const chunk = new TextEncoder().encode('data: abc')
  const parser = new SseParser()
  parser.push(chunk)
  chunk.fill(0)
  expect(parser.push(new TextEncoder().encode('\n\n'))).toEqual([{ event: 'message', data: 'abc', id: '' }])
})
