// How the program of a preset gets the tools of `parley mcp` for one turn: by an option of its own, so that it asks
// nobody for permission, and beside the servers that its user has configured. Nothing secret is in an argument, a
// variable or a configuration: the server finds its token by the turn's private file.
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { PresetName } from '../presets.ts'
import type { Variables } from './environment.ts'
import { isObject, type JsonObject, objectOf } from './parsers/parser.ts'
import { writePrivate } from './turn-files.ts'

/** What a program calls the server: its tools are called after it. */
const SERVER = 'parley'

/** Seconds that a server may take to start and a tool to answer; an agent may ask a person. */
const START_S = 30
const ANSWER_S = 660

export interface WiringPlace {
  /** What starts the server of this turn. */
  readonly server: readonly [program: string, ...args: string[]]
  /** The folder of the turn's private files. */
  readonly folder: string
  /** What the program would get without this. */
  readonly environment: Variables
  /** Somebody else can take over: it must not wait for a service that refuses to work. */
  readonly replaceable: boolean
}

export interface Wiring {
  /** Behind the arguments of the preset. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** By their names in the folder, as JSON. */
  readonly files: Readonly<Record<string, JsonObject>>
  /** By their names in the folder: what of the user's own is found there. A folder that is not there is made. */
  readonly links?: Readonly<Record<string, string>>
  /** The file in the folder that gets its telemetry. */
  readonly telemetry?: string
}

export const wirings: { readonly [Name in PresetName]: (place: WiringPlace) => Wiring } = {
  // Without --strict-mcp-config: the user's own servers stay, as in every other use of the program.
  claude: ({ server, folder }) => ({
    args: ['--mcp-config', join(folder, CONFIG_FILE), '--allowedTools', `mcp__${SERVER}`],
    env: {},
    files: { [CONFIG_FILE]: { mcpServers: { [SERVER]: { type: 'stdio', ...started(server) } } } },
  }),
  // Its sandbox holds the commands of the agent; it starts servers itself, outside of it.
  codex: ({ server: [program, ...args] }) => ({
    args: Object.entries({
      command: program,
      args,
      startup_timeout_sec: START_S,
      tool_timeout_sec: ANSWER_S,
      default_tools_approval_mode: 'approve',
      // A value of its TOML; JSON of these is one.
    }).flatMap(([name, value]) => ['-c', `mcp_servers.${SERVER}.${name}=${JSON.stringify(value)}`]),
    env: {},
    files: {},
  }),
  // It takes servers from files of its home, of the project and of root only: a home of the turn's own leads to the
  // user's, settings aside.
  gemini: ({ server, folder, environment }) => {
    const { GEMINI_CLI_HOME, HOME, GEMINI_API_KEY } = environment
    const own = join(GEMINI_CLI_HOME || HOME || '/', '.gemini')
    const settings = parsed(withoutComments(contentOf(join(own, SETTINGS))))
    const names = new Set([...namesIn(own), ...GEMINI_STATE])
    names.delete(SETTINGS)
    const mcpServers = { ...objectOf(settings.mcpServers), [SERVER]: trusted(server) }
    // Where its user has put the model elsewhere, it would take the key for that of a gateway, which it refuses.
    const other = environment.GOOGLE_GENAI_USE_VERTEXAI || environment.GOOGLE_GENAI_USE_GCA
    const type = GEMINI_API_KEY && !other ? 'gemini-api-key' : undefined
    return {
      args: [],
      env: { GEMINI_CLI_HOME: join(folder, 'home'), ...TELEMETRY_PACE },
      files: {
        [`home/.gemini/${SETTINGS}`]: {
          ...withAuth(settings, type),
          mcpServers,
          ...telemetryUnless(settings.telemetry, folder),
        },
      },
      telemetry: TELEMETRY_FILE,
      links: Object.fromEntries([...names].map(name => [`home/.gemini/${name}`, join(own, name)])),
    }
  },
  // It allows tools unless its user has said otherwise: permissions here would take the place of the user's own.
  opencode: ({ server, environment: { OPENCODE_CONFIG_CONTENT: own } }) => {
    const config = parsed(own)
    const parley = { type: 'local', command: server, enabled: true, timeout: ANSWER_S * 1000 }
    const all = { ...config, mcp: { ...objectOf(config.mcp), [SERVER]: parley } }
    return { args: [], env: { OPENCODE_CONFIG_CONTENT: JSON.stringify(all) }, files: {} }
  },
  // What its user or the system has set goes before all of this.
  qwen: ({ server, folder, environment, replaceable }) => {
    const system = parsed(contentOf(environment[QWEN_DEFAULTS] || '/etc/qwen-code/system-defaults.json'))
    const model = objectOf(system.model)
    const own = parsed(withoutComments(contentOf(join(environment.HOME || '/', '.qwen', SETTINGS))))
    // Its client and the loop around it try again silently, or after minutes.
    const generationConfig = { ...(replaceable && { maxRetries: 0 }), ...objectOf(model.generationConfig) }
    const defaults = {
      ...telemetryUnless(own.telemetry, folder),
      ...withAuth(system, environment.OPENAI_API_KEY ? 'openai' : undefined),
      model: { ...model, generationConfig },
      // It would keep what it has learned from a turn in the home of its user, and ask the model for that.
      memory: { enableManagedAutoMemory: false, enableManagedAutoDream: false, ...objectOf(system.memory) },
    }
    return {
      args: ['--mcp-config', join(folder, CONFIG_FILE)],
      env: { [QWEN_DEFAULTS]: join(folder, DEFAULTS_FILE), ...TELEMETRY_PACE },
      files: { [CONFIG_FILE]: { mcpServers: { [SERVER]: trusted(server) } }, [DEFAULTS_FILE]: defaults },
      telemetry: TELEMETRY_FILE,
    }
  },
}

/** Puts the files and links where the program finds them. */
export async function layOut(folder: string, { files, links = {} }: Wiring): Promise<void> {
  const placed = async (name: string) => {
    const file = join(folder, name)
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    return file
  }
  for (const [name, content] of Object.entries(files)) await writePrivate(await placed(name), JSON.stringify(content))
  for (const [name, target] of Object.entries(links)) {
    // Only what is missing can be made.
    await mkdir(target, { recursive: true, mode: 0o700 }).catch(() => undefined)
    await symlink(target, await placed(name))
  }
}

const CONFIG_FILE = 'mcp.json'
const SETTINGS = 'settings.json'
/** Where it keeps its sessions. */
const GEMINI_STATE = ['tmp', 'history']
const DEFAULTS_FILE = 'defaults.json'
const QWEN_DEFAULTS = 'QWEN_CODE_SYSTEM_DEFAULTS_PATH'

const TELEMETRY_FILE = 'telemetry'
/** Events are written soon, and without the whole text of each request. */
const TELEMETRY_PACE = { OTEL_BLRP_SCHEDULE_DELAY: '500', OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT: '1000' }

/** Into a file alone: nothing is sent. Where its user sends telemetry elsewhere, it goes there: there is one place. */
function telemetryUnless(own: unknown, folder: string): JsonObject {
  if (objectOf(own).enabled === true) return {}
  const outfile = join(folder, TELEMETRY_FILE)
  return { telemetry: { enabled: true, target: 'local', outfile, logPrompts: false } }
}

/** A key alone is enough: without a way to log in that its user has chosen, the program takes this one. */
function withAuth(defaults: JsonObject, selectedType: string | undefined): JsonObject {
  if (selectedType === undefined) return defaults
  const security = objectOf(defaults.security)
  return { ...defaults, security: { ...security, auth: { selectedType, ...objectOf(security.auth) } } }
}

function started([command, ...args]: WiringPlace['server']) {
  return { command, args }
}

function trusted(server: WiringPlace['server']) {
  return { ...started(server), timeout: ANSWER_S * 1000, trust: true }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function withoutComments(json: string | undefined): string | undefined {
  return json?.replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, text = '') => text)
}

/** What is no JSON object is as good as nothing. */
function parsed(text: string | undefined): JsonObject {
  try {
    const value: unknown = JSON.parse(text ?? '{}')
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}
