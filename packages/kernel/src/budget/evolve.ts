// What budget entries and measured use do to the state.
import type { Folds } from '../fold.ts'

export const budgetFolds: Folds = {}
