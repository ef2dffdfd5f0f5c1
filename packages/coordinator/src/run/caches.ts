// Where package managers keep what they download for setups: one place for all folders of a profile, beside the user's
// own. cargo, go and pnpm build straight from theirs, so that a setup shares the user's with the checks after it.
import { join } from 'node:path'

/** Variables for a setup. Nothing may be linked from a cache: an agent's write would reach every other folder. */
export function cacheVariables(profile: string, command: readonly string[]): Readonly<Record<string, string>> {
  const place = (name: string) => join(profile, 'cache', name)
  return {
    npm_config_cache: place('npm'),
    YARN_CACHE_FOLDER: place('yarn'),
    PIP_CACHE_DIR: place('pip'),
    UV_CACHE_DIR: place('uv'),
    UV_LINK_MODE: 'copy',
    // npm warns about settings that only pnpm has.
    ...(command.some(word => /\bpnpm\b/.test(word)) && { npm_config_package_import_method: 'clone-or-copy' }),
  }
}
