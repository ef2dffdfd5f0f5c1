// The package has no types of its own; sodium.ts says what it offers.
declare module 'sodium-native' {
  const sodium: unknown
  export default sodium
}
