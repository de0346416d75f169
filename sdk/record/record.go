// Package record keeps small durable records that several workers change: the state of a unit of work, an approval that is
// waited for, an operation that outlives its caller.
//
// A [Store] is a map whose writers compare and swap. Keys are paths of names joined by dots, so that everything below one
// key can be listed. Stores over NATS and SQL databases are in the module sdk/adapters; [Memory] is for tests and for
// systems of one process.
package record

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

var (
	// ErrNotFound is the error of a key that has no record.
	ErrNotFound = errors.New("no such record")
	// ErrChanged is the error of a write over a revision that is no longer the last.
	ErrChanged = errors.New("record was changed by another")
	// ErrKey is the error of a key that is none.
	ErrKey = errors.New("invalid record key")
)

// Entry is one record as it was read.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
}

// Store keeps records. Implementations are safe for concurrent use, and recordtest tells whether they keep the contract.
type Store interface {
	// Get returns the record of a key, or ErrNotFound.
	Get(ctx context.Context, key string) (Entry, error)
	// Put writes the record if its revision is still the given one, and returns the new revision. Revision 0 creates it.
	// If another writer was faster, nothing is written and the error is ErrChanged.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// List returns the record of a key, if it has one, and those below it, by key.
	List(ctx context.Context, key string) ([]Entry, error)
	// Watch calls found for each record at or below a key that there is or will be, until ctx ends, in a goroutine of its
	// own, the last revision of each at least. It returns when a record written from now on will be found.
	Watch(ctx context.Context, key string, found func(Entry)) error
}

const (
	maxName  = 64
	maxDepth = 16
)

// CheckName returns an error that wraps [ErrKey] unless name can be a part of a key: 1 to 64 letters, digits, - and _.
func CheckName(name string) error {
	if len(name) == 0 || len(name) > maxName {
		return fmt.Errorf("%w: %q has not 1 to %d characters", ErrKey, name, maxName)
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return fmt.Errorf("%w: %q may hold letters, digits, - and _ only", ErrKey, name)
		}
	}
	return nil
}

// CheckKey returns an error that wraps [ErrKey] unless key is a path of at most 16 names joined by dots.
func CheckKey(key string) error {
	depth := 0
	for name := range strings.SplitSeq(key, ".") {
		if err := CheckName(name); err != nil {
			return err
		}
		depth++
	}
	if depth > maxDepth {
		return fmt.Errorf("%w: %q is deeper than %d names", ErrKey, key, maxDepth)
	}
	return nil
}

// Below reports whether key is root or below it.
func Below(key, root string) bool {
	return strings.HasPrefix(key, root) && (len(key) == len(root) || key[len(root)] == '.')
}

// Get reads and decodes a record.
func Get[T any](ctx context.Context, s Store, key string) (T, error) {
	v, _, err := read[T](ctx, s, key)
	return v, err
}

// Change replaces a record by what change makes of it, and calls change again if another writer was faster. exists is false,
// and the value zero, if there is no record yet. An error of change ends it without a write and is returned beside the
// record as it is.
func Change[T any](ctx context.Context, s Store, key string, change func(v T, exists bool) (T, error)) (T, error) {
	for {
		old, revision, err := read[T](ctx, s, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return old, err
		}
		v, err := change(old, revision != 0)
		if err != nil {
			return old, err
		}
		value, err := json.Marshal(v)
		if err != nil {
			return old, fmt.Errorf("record %s: %w", key, err)
		}
		_, err = s.Put(ctx, key, value, revision)
		if !errors.Is(err, ErrChanged) {
			return v, err
		}
		// Writers that collide part by chance.
		select {
		case <-ctx.Done():
			return old, context.Cause(ctx)
		case <-time.After(rand.N(5 * time.Millisecond)):
		}
	}
}

func read[T any](ctx context.Context, s Store, key string) (T, uint64, error) {
	var v T
	if err := CheckKey(key); err != nil {
		return v, 0, err
	}
	e, err := s.Get(ctx, key)
	if err != nil {
		return v, 0, err
	}
	if err := json.Unmarshal(e.Value, &v); err != nil {
		return v, e.Revision, fmt.Errorf("record %s: %w", key, err)
	}
	return v, e.Revision, nil
}
