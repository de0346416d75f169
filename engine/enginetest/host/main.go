// Command host runs an engine for tests in a process of its own: the library wants a binary without cgo, tests may be built
// with the race detector. It prints the address and ends when its standard input does, so it never outlives its test.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/laxity-dev/laxity/engine"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "enginetest host:", err)
		os.Exit(1)
	}
}

func run() error {
	var config engine.Config
	flag.StringVar(&config.Listen, "listen", "127.0.0.1:0", "")
	flag.StringVar(&config.Data, "data", "", "")
	flag.StringVar(&config.User, "user", "", "")
	flag.StringVar(&config.Password, "password", "", "")
	flag.IntVar(&config.MaxQueries, "max-queries", 0, "")
	flag.IntVar(&config.MaxWaiting, "max-waiting", 0, "")
	flag.Int64Var(&config.MaxMemory, "max-memory", 0, "")
	flag.DurationVar(&config.Grace, "grace", 0, "")
	flag.Func("server-flag", "", func(s string) error {
		config.ServerFlags = append(config.ServerFlags, s)
		return nil
	})
	flag.Parse()
	parent, err := syscall.Dup(0) // the engine takes the standard input away
	if err != nil {
		return err
	}
	e, err := engine.Open(config)
	if err != nil {
		return err
	}
	if _, err := fmt.Println("listening", strings.TrimSpace(e.Address())); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.NewFile(uintptr(parent), "parent"))
		cancel()
	}()
	return e.Serve(ctx)
}
