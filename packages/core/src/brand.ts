// Branded types: two strings that mean different things do not fit into each other's place.

declare const brand: unique symbol

export type Brand<T, Name extends string> = T & { readonly [brand]: Name }
