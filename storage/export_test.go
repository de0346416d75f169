package storage

import "context"

// Roll makes margins and reports come from the rollups, however few hops there are.
func (db *DB) Roll() { db.exact, db.exactReports = 0, 0 }

// TalliedStatement is the statement of a report from tallies over a window with edges of what no bucket covers, and its parameters.
func (db *DB) TalliedStatement(ctx context.Context, name string, w Window) (string, map[string]any, error) {
	plan, err := db.planTally(ctx, w, w, asOne)
	if err != nil || plan == nil {
		return "", nil, err
	}
	return plan.statement("tally_" + name), plan.parameters(), nil
}

// Confine bounds what a statement of the worker may take, and the rows that are counted at a time.
func (db *DB) Confine(memory int, rows uint64) { db.memory, db.tallyRows = memory, rows }
