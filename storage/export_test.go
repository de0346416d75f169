package storage

// Roll makes margins and reports come from the rollups, however few hops there are.
func (db *DB) Roll() { db.exact, db.exactReports = 0, 0 }

