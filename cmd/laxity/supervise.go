package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// supervisedVariable tells a process that it ends when its standard input does: with the process that started it,
	// however that one ends.
	supervisedVariable = envPrefix + "SUPERVISED"

	firstBackoff = 200 * time.Millisecond
	maxBackoff   = 2 * time.Second
	// steady is how long a process must run for its next end to count as the first.
	steady = 10 * time.Second
	// firstTries is how often a part that has never served may end before it is given up.
	firstTries = 3
	// grace is how long a process may take to end before it is killed.
	grace = 20 * time.Second
)

// part is one command of this binary as a process that is started again whenever it ends.
type part struct {
	name string
	args []string
	// env is what the part is told beside this process's environment: secrets, which arguments would show to everyone.
	env []string
	// ready asks once whether the part serves.
	ready func(context.Context) error

	cancel context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex
	ended int    // times
	last  string // line of its output
}

// start runs the part until stop. Its output goes to out, line by line behind its name.
func (p *part) start(ctx context.Context, log *slog.Logger, out io.Writer) {
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.done.Go(func() {
		backoff := firstBackoff
		for ctx.Err() == nil {
			began := time.Now()
			err := p.once(ctx, log, out)
			if ctx.Err() != nil {
				return
			}
			p.mu.Lock()
			p.ended++
			p.mu.Unlock()
			if time.Since(began) > steady {
				backoff = firstBackoff
			}
			log.Error("process ended; it is started again", "process", p.name, "error", err, "after", backoff)
			select {
			case <-ctx.Done():
			case <-time.After(backoff):
			}
			backoff = min(2*backoff, maxBackoff)
		}
	})
}

// stop ends the part and waits for it.
func (p *part) stop() {
	p.cancel()
	p.done.Wait()
}

// givenUp returns why a part that ended again and again did so, in its own last words.
func (p *part) givenUp() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended < firstTries {
		return nil
	}
	return fmt.Errorf("%s ended %d times and is given up: %s", p.name, p.ended, strings.TrimPrefix(p.last, "laxity: "))
}

// wait returns when the part serves, or with its last words when it ends again and again or limit is over.
func (p *part) wait(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := p.ready(ctx)
		if err == nil {
			return nil
		}
		if err := p.givenUp(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve within %s (its output says why): %w", p.name, limit, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// once runs the process to its end.
func (p *part) once(ctx context.Context, log *slog.Logger, out io.Writer) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("own binary: %w", err)
	}
	cmd := exec.CommandContext(ctx, binary, p.args...)
	cmd.Env = append(append(os.Environ(), p.env...), supervisedVariable+"=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	// A signal typed at the terminal goes to this process alone, which ends the parts in their order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	lines := &prefixed{prefix: p.name + ": ", out: out, seen: func(line string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = line
	}}
	cmd.Stdout, cmd.Stderr = lines, lines
	if err := cmd.Start(); err != nil {
		return err
	}
	log.Info("process started", "process", p.name, "pid", cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		return err
	}
	return errors.New("it ended without an error")
}

// prefixed writes whole lines behind a prefix. One command writes to it from one goroutine.
type prefixed struct {
	prefix string
	out    io.Writer
	seen   func(line string)
	part   []byte
}

func (w *prefixed) Write(b []byte) (int, error) {
	w.part = append(w.part, b...)
	for {
		n, line, err := bufio.ScanLines(w.part, false)
		if n == 0 || err != nil {
			return len(b), err
		}
		w.seen(string(line))
		if _, err := fmt.Fprintf(w.out, "%s%s\n", w.prefix, line); err != nil {
			return len(b), err
		}
		w.part = w.part[n:]
	}
}

// followParent ends the context when this process is supervised and its standard input ends.
func followParent(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if os.Getenv(supervisedVariable) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}
	return ctx, cancel
}
