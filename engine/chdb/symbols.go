package chdb

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	_ "embed"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// libraryPins is what install.sh installs: "version X", then one digest for each platform known.
//
//go:embed library.txt
var libraryPins string

// Version is the version of the library this package is made for, as npm counts it.
func Version() string {
	for line := range strings.Lines(libraryPins) {
		if v, ok := strings.CutPrefix(line, "version "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// LibraryPath is where make engine-lib puts the library: LAXITY_LIB_DIR, else laxity/lib in the user's cache folder.
func LibraryPath() string {
	dir := os.Getenv("LAXITY_LIB_DIR")
	if dir == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			home, _ := os.UserHomeDir()
			cache = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(cache, "laxity", "lib")
	}
	return filepath.Join(dir, "libchdb-"+Version()+".so")
}

// symbols are the functions of chdb.h that we call. A handle is an address owned by the library.
type symbols struct {
	setSignalHandlersEnabled func(enabled int32)

	connect func(argc int32, argv unsafe.Pointer) *uintptr
	close   func(conn *uintptr)

	query, stream queryFunc

	streamFetch  func(conn, stream uintptr) uintptr
	streamCancel func(conn, stream uintptr)

	destroy      func(result uintptr)
	buffer       func(result uintptr) unsafe.Pointer
	length       func(result uintptr) uintptr
	rowsRead     func(result uintptr) uint64
	bytesRead    func(result uintptr) uint64
	storageRows  func(result uintptr) uint64
	storageBytes func(result uintptr) uint64
	rowsWritten  func(result uintptr) uint64
	bytesWritten func(result uintptr) uint64
	resultError  func(result uintptr) string
}

// queryFunc is chdb_query_with_params_n or chdb_stream_query_with_params_n.
type queryFunc func(conn uintptr, sql unsafe.Pointer, sqlLen uintptr, format unsafe.Pointer, formatLen uintptr,
	names, nameLens, values, valueLens unsafe.Pointer, count uintptr) uintptr

var (
	loadOnce sync.Once
	lib      symbols
	errLoad  error
)

// load opens the library the first time it is called; the path of later calls is ignored, for a process can hold one.
func load(path string) error {
	loadOnce.Do(func() { errLoad = open(path, &lib) })
	return errLoad
}

func open(path string, s *symbols) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("engine library %s is missing: run 'make engine-lib' to install it (LAXITY_LIB_DIR names another folder)", path)
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return fmt.Errorf("engine library %s cannot be loaded, remove it and run 'make engine-lib': %w", path, err)
	}
	for _, f := range []struct {
		target any
		name   string
	}{
		{&s.setSignalHandlersEnabled, "chdb_set_signal_handlers_enabled"},
		{&s.connect, "chdb_connect"},
		{&s.close, "chdb_close_conn"},
		{&s.query, "chdb_query_with_params_n"},
		{&s.stream, "chdb_stream_query_with_params_n"},
		{&s.streamFetch, "chdb_stream_fetch_result"},
		{&s.streamCancel, "chdb_stream_cancel_query"},
		{&s.destroy, "chdb_destroy_query_result"},
		{&s.buffer, "chdb_result_buffer"},
		{&s.length, "chdb_result_length"},
		{&s.rowsRead, "chdb_result_rows_read"},
		{&s.bytesRead, "chdb_result_bytes_read"},
		{&s.storageRows, "chdb_result_storage_rows_read"},
		{&s.storageBytes, "chdb_result_storage_bytes_read"},
		{&s.rowsWritten, "chdb_result_rows_written"},
		{&s.bytesWritten, "chdb_result_bytes_written"},
		{&s.resultError, "chdb_result_error"},
	} {
		address, err := purego.Dlsym(handle, f.name)
		if err != nil {
			return fmt.Errorf("engine library %s has no %s, remove it and run 'make engine-lib': %w", path, f.name, err)
		}
		purego.RegisterFunc(f.target, address)
	}
	if err := useUTC(); err != nil {
		return err
	}
	if err := closeStdin(); err != nil {
		return err
	}
	// Its handlers would turn a nil dereference in Go into a silent hang.
	s.setSignalHandlersEnabled(0)
	return nil
}

// useUTC makes the engine's time zone UTC, whatever the machine's: the library reads TZ of the C environment, which os.Setenv
// does not reach without cgo.
func useUTC() error {
	address, err := purego.Dlsym(purego.RTLD_DEFAULT, "setenv")
	if err != nil {
		return fmt.Errorf("engine time zone: %w", err)
	}
	var setenv func(name, value string, overwrite int32) int32
	purego.RegisterFunc(&setenv, address)
	setenv("TZ", "UTC", 1)
	return nil
}

// closeStdin puts nothing in the place of the standard input: a statement can make the library read it, without an end.
func closeStdin() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return fmt.Errorf("standard input of the engine: %w", err)
	}
	defer null.Close()
	if err := unix.Dup2(int(null.Fd()), 0); err != nil {
		return fmt.Errorf("standard input of the engine: %w", err)
	}
	return nil
}
