// Tests run the sources as they are: no build step. Each file gets its own process, since some tests kill or fork.
// `npm test` adds the reporters (scripts/test.ts); `npm run soak` sets PARLEY_SOAK, and its tests may take hours.
import { defineConfig } from 'vitest/config'

const timeout = process.env.PARLEY_SOAK ? 6 * 60 * 60_000 : 60_000

export default defineConfig({
  ssr: { resolve: { conditions: ['parley-source', 'node', 'import', 'default'] } },
  test: {
    include: ['packages/*/src', 'scripts', 'sim', 'faults', 'bench'].map(folder => `${folder}/**/*.test.ts`),
    pool: 'forks',
    // All cores: left to itself it keeps one free, which on a machine of two doubles the time.
    maxWorkers: '100%',
    execArgv: ['--conditions=parley-source', '--disable-warning=ExperimentalWarning'],
    testTimeout: timeout,
    hookTimeout: timeout,
    // A node that a test starts with the environment as it is listens on this machine alone, on a free port
    // (ALP-TCP-01).
    env: { ALPI_NETWORK_HOST: '127.0.0.1', ALPI_ALP_TCP_PORT: '0' },
  },
})
