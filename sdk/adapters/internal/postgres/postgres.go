// Package postgres starts a real PostgreSQL for tests.
package postgres

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Start runs a PostgreSQL of the test's own, on a socket in a temporary directory, until the test ends. It returns its DSN.
func Start(t testing.TB) string {
	t.Helper()
	initdb, server := binary(t, "initdb"), binary(t, "postgres")
	// Socket paths are short, and PostgreSQL refuses to run as root.
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatalf("PostgreSQL does not run as root and there is no user postgres: run make postgres (%v)", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(dir, "data")
	cmd := exec.Command(initdb, "-D", data, "-U", "laxity", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C")
	cmd.SysProcAttr, cmd.Dir = attr, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd = exec.Command(server, "-D", data, "-k", dir, "-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=50", "-c", "shared_buffers=16MB")
	cmd.SysProcAttr, cmd.Dir, cmd.Stdout, cmd.Stderr = attr, dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-ended
	})
	said := func() []byte {
		text, _ := os.ReadFile(log.Name())
		return text
	}
	for deadline := time.Now().Add(60 * time.Second); !bytes.Contains(said(), []byte("ready to accept connections")); time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("PostgreSQL ended:\n%s", said())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL is not up within 60 s:\n%s", said())
		}
	}
	return fmt.Sprintf("host=%s user=laxity dbname=postgres", dir)
}

// binary finds a program of PostgreSQL, which Debian keeps out of the path.
func binary(t testing.TB, name string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: run make postgres", name)
	}
	return path
}
