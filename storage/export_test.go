package storage

// Roll makes margins come from the rollups, however few hops there are.
func (db *DB) Roll() { db.exact = 0 }
