// The section of AGENTS.md that tells an agent how to work in a Parley team.
export const AGENT_NOTES = `## Working in a Parley workspace

When you have the tools of an MCP server \`parley\`, or the environment has \`PARLEY_TOKEN_FILE\`, you work on one task of
a team, in a folder of your own. Use the tools, or in a shell the commands of the same names:

- \`status\` (\`parley ws status\`) says which task it is and which files you may change. Changes elsewhere are reverted.
- \`checkpoint\` (\`parley ws checkpoint "what you did"\`) saves the folder as it is now. If your turn is interrupted, the next one resumes from there.
- \`inbox\` (\`parley ws inbox\`) reads new mail for you. Read it when a result says that some is unread.
- \`ask\` (\`parley ws ask "your question"\`) asks a person and waits a while for the answer.
- \`block\` (\`parley ws block "your question"\`) says that you cannot continue without an answer. Then end your turn; the answer starts your next one.

Leave your result as files in the folder and end your turn. Do not commit, push or change branches: Parley
integrates what you changed. Add \`--json\` to a command for output that programs can read.`
