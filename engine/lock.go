package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const lockName = "laxity.lock"

// LockedError says that another process has the data directory.
type LockedError struct {
	Dir    string
	Holder string // as the holder wrote it: "process 4711, listening on 127.0.0.1:8123"
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("data directory %s is in use by %s: stop it, or choose another directory with --data", e.Dir, e.Holder)
}

// dirLock is held for as long as its file is open; the system drops it when the process dies.
type dirLock struct{ file *os.File }

func lockDir(dir string) (*dirLock, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock of the data directory %s: %w", dir, err)
		}
		holder, _ := os.ReadFile(file.Name())
		text := strings.TrimSpace(string(holder))
		if text == "" {
			text = "another process"
		}
		return nil, &LockedError{Dir: dir, Holder: text}
	}
	l := &dirLock{file: file}
	return l, l.describe(fmt.Sprintf("process %d", os.Getpid()))
}

// CheckDir reports with a *LockedError that another process has the data directory now.
func CheckDir(dir string) error {
	l, err := lockDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the engine makes it
	}
	if err == nil {
		l.release()
	}
	return err
}

// describe writes who holds the lock, for the one who finds it taken.
func (l *dirLock) describe(holder string) error {
	if err := l.file.Truncate(0); err != nil {
		return fmt.Errorf("lock of the data directory: %w", err)
	}
	if _, err := l.file.WriteAt([]byte(holder+"\n"), 0); err != nil {
		return fmt.Errorf("lock of the data directory: %w", err)
	}
	return nil
}

func (l *dirLock) release() {
	_ = l.file.Truncate(0)
	_ = l.file.Close()
}
