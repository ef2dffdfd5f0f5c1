import fc from 'fast-check'
import { expect, test } from 'vitest'
import { confidenceOf, type Fit } from './confidence.ts'
import { domainNearness } from './domains.ts'

const nowMs = Date.UTC(2026, 0, 31)
const fit = (more: Partial<Fit> = {}): Fit => ({
  isExact: false,
  coverage: 1,
  domain: 1,
  votes: { up: 0, down: 0, endorsements: 0 },
  reputation: 0,
  createdAt: '2026-01-01T00:00:00.000Z',
  nowMs,
  ...more,
})
const confidence = (more: Partial<Fit> = {}) => confidenceOf(fit(more)).confidence

test('confidence is a number from 0 to 1 that its parts add up to, whatever is known of a block', () => {
  const votes = fc.record({ up: fc.nat(1e6), down: fc.nat(1e6), endorsements: fc.nat(1e6) })
  const any = fc.record({
    ...{ isExact: fc.boolean(), coverage: fc.double({ min: 0, max: 1, noNaN: true }), votes },
    domain: fc.constantFrom(0 as const, 0.5 as const, 1 as const),
    reputation: fc.nat(1000),
    createdAt: fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map(date => date.toISOString()),
    nowMs: fc.nat(4e12),
  })
  fc.assert(
    fc.property(any, given => {
      const { confidence, parts } = confidenceOf(given)
      expect(confidence).toBeGreaterThanOrEqual(0)
      expect(confidence).toBeLessThanOrEqual(1)
      const sum = Object.values(parts).reduce((all, part) => all + part, 0)
      expect(Math.abs(Math.min(1, Math.max(0, sum)) - confidence)).toBeLessThan(1e-3)
      const better = { ...given, votes: { ...given.votes, up: given.votes.up + 1 } }
      expect(confidenceOf(better).confidence).toBeGreaterThanOrEqual(confidence)
      expect(confidenceOf({ ...given, isExact: true }).confidence).toBeGreaterThanOrEqual(confidence)
    }),
  )
})

test('every word in the same domain passes the usual gate, half of them does not; an exact match is far above it', () => {
  expect(confidence()).toBeGreaterThan(0.6)
  expect(confidence({ coverage: 0.5 })).toBeLessThan(0.35)
  expect(confidence({ isExact: true, coverage: 0 })).toBeGreaterThan(0.9)
  expect(confidence({ votes: { up: 0, down: 3, endorsements: 0 } })).toBeLessThan(confidence() - 0.1)
  expect(confidence({ createdAt: '2026-01-31T00:00:00.000Z' })).toBeGreaterThan(confidence())
})

test('domains are near where one is a part of the other, by whole names', () => {
  expect(domainNearness('ops.Backup', 'OPS.backup ')).toBe(1)
  expect(domainNearness('ops', 'ops.backup')).toBe(0.5)
  expect(domainNearness('ops.backup', 'ops')).toBe(0.5)
  expect(domainNearness('ops', 'opsx')).toBe(0)
})
