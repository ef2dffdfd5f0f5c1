// Bundles a script with everything that it imports, for a browser. What a browser does not have stays visible as an
// import.
import { rolldown } from 'rolldown'

export interface Bundle {
  readonly code: string
  /** Modules that are not in the bundle: in a browser, none of them can be loaded. */
  readonly imports: readonly string[]
  /** The part of the code that is no dependency's. */
  readonly own: string
}

export async function bundleForBrowser(entry: URL): Promise<Bundle> {
  const bundle = await rolldown({
    input: entry.pathname,
    platform: 'browser',
    resolve: { conditionNames: ['parley-source', 'browser', 'import', 'default'] },
    external: /^node:/,
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
  await bundle.close()
  const [chunk] = output
  const own = Object.entries(chunk.modules).filter(([path]) => !path.includes('node_modules'))
  return {
    code: chunk.code,
    imports: [...chunk.imports, ...chunk.dynamicImports],
    own: own.map(([, { code }]) => code ?? '').join('\n'),
  }
}
