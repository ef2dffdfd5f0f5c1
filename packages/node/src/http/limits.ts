// Every bound of the HTTP surface, by name, and what holds where nobody says otherwise.

const KiB = 1024
const MiB = 1024 * KiB
const second = 1000
const minute = 60 * second
const day = 24 * 60 * minute

export const httpLimits = {
  /** Bytes of a request's line and headers, and how many headers. */
  headerBytes: 16 * KiB,
  headers: 100,
  bodyBytes: MiB,
  /** Characters of a part of a path. */
  paramLength: 256,
  /** Connections at once; those beyond are closed. */
  connections: 256,
  /** Requests in progress at once, streams included. */
  requests: 512,
  /** Requests on one connection. */
  requestsOfConnection: 10_000,
  /** Requests within a minute: from one address, before anybody is asked who they are, and of one principal. */
  addressPerMinute: 1_200,
  principalPerMinute: 1_200,
  /** Addresses, and principals, whose requests are counted; the least recent are forgotten. */
  counted: 10_000,
  /** Streams at once of one principal. */
  streams: 16,
  /** Values of a subscription that wait for a slow reader. */
  streamBuffer: 256,
  /** Host names beside the own ones, origins, and characters of each. */
  names: 32,
  origins: 32,
  nameLength: 280,
  /** Characters of a correlation id. */
  correlationLength: 128,
  /** Bytes of a file with certificates or a key. */
  pemBytes: 256 * KiB,
  /** Documents that plugins add to the description of the interface, and bytes of the whole. */
  mounts: 16,
  /** Tokens that are kept, and characters of a token's name. */
  tokens: 1_000,
  tokenName: 64,
  tokenFileBytes: 2 * MiB,
  userLength: 64,
} as const

/** Milliseconds. */
export const httpTimes = {
  /** For the headers of a request, for all of it, and between two looks at that. */
  headers: 10 * second,
  request: 30 * second,
  look: second,
  /** A connection without a request. */
  keepAlive: 20 * second,
  /** For the answer of an operation that is no subscription. */
  answer: 60 * second,
  /** Between two signs of life of a stream, and how long a reader may take in nothing. */
  heartbeat: 15 * second,
  stalled: 60 * second,
  /** Requests in progress at a stop. */
  farewell: 5 * second,
  /** Tokens. */
  tokenLife: 30 * day,
  tokenLifeMost: 366 * day,
  tokenLifeLeast: minute,
  /** Tokens that were revoked or have expired are listed for so long. */
  tokenAfterlife: 30 * day,
} as const

export const httpDefaults = {
  host: '127.0.0.1',
  port: 7424,
} as const
