package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/record"
)

type records Store

// Records returns the store of records. A watch looks five times a second.
func (s *Store) Records() record.Store { return (*records)(s) }

// Get implements [record.Store].
func (s *records) Get(ctx context.Context, key string) (record.Entry, error) {
	var e record.Entry
	err := s.db.QueryRowContext(ctx, recordGetSQL, key).Scan(&e.Key, &e.Value, &e.Revision)
	if errors.Is(err, sql.ErrNoRows) {
		return e, record.ErrNotFound
	}
	return e, err
}

// Put implements [record.Store].
func (s *records) Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	if err := record.CheckKey(key); err != nil {
		return 0, err
	}
	statement, args := recordPutSQL, []any{value, key, int64(revision)}
	if revision == 0 {
		statement, args = recordCreateSQL, []any{key, value}
	}
	res, err := s.db.ExecContext(ctx, statement, args...)
	if err != nil {
		return 0, fmt.Errorf("put %s: %w", key, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("put %s: %w", key, err)
	}
	if n == 0 {
		return 0, record.ErrChanged
	}
	return revision + 1, nil
}

// List implements [record.Store].
func (s *records) List(ctx context.Context, key string) ([]record.Entry, error) {
	rows, err := s.db.QueryContext(ctx, recordListSQL, key, key+".", key+"/")
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", key, err)
	}
	defer func() { _ = rows.Close() }()
	var list []record.Entry
	for rows.Next() {
		var e record.Entry
		if err := rows.Scan(&e.Key, &e.Value, &e.Revision); err != nil {
			return nil, fmt.Errorf("list %s: %w", key, err)
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// Watch implements [record.Store]. It looks again and again, and passes over a database that is away for a while.
func (s *records) Watch(ctx context.Context, key string, found func(record.Entry)) error {
	list, err := s.List(ctx, key)
	if err != nil {
		return err
	}
	go func() {
		seen := map[string]uint64{}
		tick := time.NewTicker(s.poll)
		defer tick.Stop()
		for {
			for _, e := range list {
				if seen[e.Key] != e.Revision {
					seen[e.Key] = e.Revision
					found(e)
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if list, err = s.List(ctx, key); err != nil {
				list = nil
			}
		}
	}()
	return nil
}
