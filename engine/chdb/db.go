// Package chdb calls libchdb, the ClickHouse engine as a library, without cgo.
//
// The engine exists once in a process and owns one data directory. A connection runs one statement at a time; settings,
// temporary tables and the current database belong to the connection and end with it. Opening one takes half a millisecond,
// so a connection for each request keeps requests apart.
package chdb

import (
	"errors"
	"fmt"
	"sync"
)

// Options of the engine.
type Options struct {
	Library string   // path of libchdb; empty means LibraryPath()
	Args    []string // server settings as "--name=value"
}

// DB is the engine over one data directory. It is safe for concurrent use.
type DB struct {
	path   string
	mu     sync.RWMutex
	anchor *Conn // keeps the engine alive while no request runs
}

// booted guards the rule of the library: one engine in a process.
var booted sync.Mutex

// ErrBooted is returned by Open while another engine of this process is open.
var ErrBooted = errors.New("this process already has an engine open")

// Open loads the library and boots the engine over a directory. Close frees it.
func Open(path string, opts Options) (*DB, error) {
	library := opts.Library
	if library == "" {
		library = LibraryPath()
	}
	if err := load(library); err != nil {
		return nil, err
	}
	if !booted.TryLock() {
		return nil, ErrBooted
	}
	anchor, err := connect(append([]string{"--path=" + path}, opts.Args...))
	if err != nil {
		booted.Unlock()
		return nil, fmt.Errorf("boot on %s: %w", path, err)
	}
	return &DB{path: path, anchor: anchor}, nil
}

// Connect opens a connection, to be closed by the caller.
func (db *DB) Connect() (*Conn, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if db.anchor == nil {
		return nil, errClosed
	}
	return connect([]string{"--path=" + db.path})
}

// Close shuts the engine down. Every other connection must have been closed.
func (db *DB) Close() {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.anchor == nil {
		return
	}
	db.anchor.Close()
	db.anchor = nil
	booted.Unlock()
}
