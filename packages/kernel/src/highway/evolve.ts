// What highway entries do to the state: gates and escalations that wait.
import type { Folds } from '../fold.ts'

export const highwayFolds: Folds = {}
