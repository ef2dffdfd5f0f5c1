// A throw-away kind of agent: its one file. It answers from a diary, and each answer costs half a dollar.
import { existsSync, readFileSync } from 'node:fs'
import { type AgentKind, type AgentSettings, ok, Type } from '@parley/core'

export interface DiarySettings extends AgentSettings {
  readonly diary: string
}

export const diaryKind: AgentKind<DiarySettings, unknown, unknown> = {
  name: 'diary',
  marks: ['diary'],
  fields: { diary: Type.Optional(Type.String({ minLength: 1, title: 'Diary', description: 'The file of a diary.' })) },
  costs: 'profile',
  absence: {
    code: 'diary_lost',
    description: 'Somebody has lost a diary',
    problem: 'nobody finds the diary',
    remedy: 'Look under the bed.',
  },
  read: ({ diary }) =>
    String(diary).endsWith('.md') ? ok({ diary: String(diary) }) : { ok: false, error: NO_MARKDOWN },
  describe: ({ diary }) => ({
    program: 'diary',
    runs: `reads ${diary}`,
    facts: [['mood', 'quiet']],
    limits: ['one page'],
  }),
  needs: () => ({ hosts: [], credentials: { variables: ['DIARY_KEY'], files: [] }, help: 'Find the key.' }),
  passes: () => ['DIARY_KEY'],
  missing: ({ diary }) => (existsSync(diary) ? undefined : { name: diary }),
  adapter: (name, { diary }) => ({
    name,
    kind: 'diary',
    reach: { folder: false },
    takeTurn: async () => ({ outcome: 'complete', text: readFileSync(diary, 'utf8'), usage: { usd: 0.5 } }),
    close: async () => undefined,
  }),
}

const NO_MARKDOWN = { field: 'diary', reason: 'a diary is Markdown.' }
