package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEngineCommandServesAndStops(t *testing.T) {
	dir := t.TempDir()
	addressFile := filepath.Join(dir, "address")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	exited := make(chan int, 1)
	go func() {
		exited <- run(ctx, []string{"engine", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--address-file", addressFile, "--max-memory", "2GiB"})
	}()
	var address string
	for deadline := time.Now().Add(30 * time.Second); address == ""; time.Sleep(10 * time.Millisecond) {
		select {
		case code := <-exited:
			t.Fatalf("exit code %d", code)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("no address within 30 s")
		}
		text, _ := os.ReadFile(addressFile)
		address = strings.TrimSpace(string(text))
	}
	response, err := http.Get("http://" + address + "/?query=SELECT%201")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "1\n" {
		t.Errorf("%q %v", body, err)
	}
	stop()
	if code := <-exited; code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

func TestEngineCommandRefusesBadUsage(t *testing.T) {
	for _, args := range [][]string{
		{"engine", "--listen", "0.0.0.0:0", "--data", "d"},
		{"engine", "--max-memory", "much"},
		{"engine", "--max-memory", "-1"},
		{"engine", "--max-memory", "99999999999GiB"},
		{"engine", "extra"},
		{"engine", "--nosuch"},
	} {
		if code := run(t.Context(), args); code != exitUsage {
			t.Errorf("%v: exit code %d, want %d", args, code, exitUsage)
		}
	}
}
