// The public names of @alx/protocol/core: signed requests (section 12).
export {
  type Decimal,
  type NormalizedRequest,
  type SignedProtocolRequest,
  type SignedRequestErrorCode,
  SignedRequestValidationError,
} from './request.ts'
export {
  buildSignedProtocolRequestDomain,
  hashSignedProtocolRequest,
  SIGNED_PROTOCOL_REQUEST_TYPES,
  type SignedProtocolRequestDomain,
} from './typed-data.ts'
export {
  NonceTracker,
  recoverSignedProtocolRequestSigner,
  type Verification,
  type VerifiedRequest,
  verifySignedProtocolRequest,
} from './verify.ts'
