// What user entries do to the house run's state.
import type { Folds } from '../fold.ts'

export const userFolds: Folds = {}
