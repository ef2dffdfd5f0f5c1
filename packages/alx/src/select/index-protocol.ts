// The messages between the index of Knowledge Blocks and the thread that it lives on.

/** What one record of the library changes in the index. */
export type FedRow =
  | {
      readonly kind: 'block'
      readonly kbHash: string
      readonly type: string
      readonly domain: string
      /** Whether everybody may read it. */
      readonly isOpen: boolean
      readonly curator: string
      readonly words: string
    }
  | { readonly kind: 'open' | 'retire'; readonly kbHash: string }
  | { readonly kind: 'reader'; readonly kbHash: string; readonly user: string }

/** Up to where the library was taken in: the record's position, and what tells it from another library's. */
export interface IndexPoint {
  readonly at: number
  readonly mark: string
}

export interface Search {
  /** Words as people write them; none of them is syntax. */
  readonly words: readonly string[]
  readonly reader: string
  /** Blocks of this domain, of those around it and inside it; all if undefined. */
  readonly domain?: string
  readonly types?: { readonly only: readonly string[] } | { readonly but: readonly string[] }
  /** Only these blocks. */
  readonly among?: readonly string[]
  /** Deprecated and slashed blocks too: for people who look around. */
  readonly withRetired?: boolean
  readonly limit: number
}

export interface Hit {
  readonly kbHash: string
  /** The part of the words that the block has. */
  readonly coverage: number
}

export type ToIndex =
  | { readonly kind: 'start'; readonly file: string }
  | { readonly kind: 'feed'; readonly id: number; readonly rows: readonly FedRow[]; readonly point: IndexPoint }
  | { readonly kind: 'search'; readonly id: number; readonly search: Search }
  | { readonly kind: 'clear'; readonly id: number }
  | { readonly kind: 'close' }

export type FromIndex =
  | { readonly kind: 'opened'; readonly point: IndexPoint | undefined }
  | { readonly kind: 'done'; readonly id: number; readonly hits: readonly Hit[] }
  /** The index cannot be used: it is to be made again. */
  | { readonly kind: 'broken'; readonly message: string }
