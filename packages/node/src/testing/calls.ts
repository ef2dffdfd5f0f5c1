// What tests of operations share: a small intent, and ways to look at what a call comes to.
export const solve = { intent: 'Do it.', project: '/project', approved: true }

export async function refusal(promise: Promise<unknown>): Promise<{ code: string; message: string; details: unknown }> {
  return promise.then(
    () => {
      throw new Error('it was answered')
    },
    (error: { code: string; message: string; details: unknown }) => error,
  )
}

export async function collected<T>(values: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const value of values) all.push(value)
  return all
}
