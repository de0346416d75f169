package budgetsql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Behaviour is what a driver really does when the context of a statement ends.
type Behaviour struct {
	// Honours says that the call returned when its context ended, Overrun how long after that.
	Honours bool
	Overrun time.Duration
	// ConnectionReusable says that the same connection answered afterwards.
	ConnectionReusable bool
	// ServerStops says that the statement was seen to stop in the server.
	ServerStops bool
}

// String names the behaviour.
func (b Behaviour) String() string {
	switch {
	case !b.Honours:
		return "ignores the end"
	case b.ServerStops && b.ConnectionReusable:
		return "cancels the statement in the server, keeps the connection"
	case b.ServerStops:
		return "stops the statement in the server, drops the connection"
	case b.ConnectionReusable:
		return "returns and leaves the statement running, keeps the connection"
	}
	return "drops the connection and leaves the statement running"
}

// Times of a probe.
const (
	probeDeadline = 200 * time.Millisecond
	probePatience = time.Second
)

// Probe runs a slow statement, for example SELECT pg_sleep(3), on a connection of its own under a context of 200 ms, and
// watches what happens. running is asked over other connections whether the statement runs in the server; it is asked
// until it does not, or for a second. The statement should take at least three seconds.
func Probe(ctx context.Context, db *sql.DB, slow string, running func(context.Context) (bool, error)) (Behaviour, error) {
	var b Behaviour
	c, err := db.Conn(ctx)
	if err != nil {
		return b, fmt.Errorf("probe connection: %w", err)
	}
	defer c.Close()
	if err := c.PingContext(ctx); err != nil {
		return b, fmt.Errorf("probe connection: %w", err)
	}
	short, cancel := context.WithTimeout(ctx, probeDeadline)
	defer cancel()
	start := time.Now()
	_, err = c.ExecContext(short, slow)
	took := time.Since(start)
	if err == nil && took < probeDeadline {
		return b, errors.New("probe: the statement is not slow, it must take at least three seconds")
	}
	if err != nil && short.Err() == nil {
		return b, fmt.Errorf("probe statement: %w", err)
	}
	b.Overrun = max(took-probeDeadline, 0)
	b.Honours = b.Overrun < probePatience
	for deadline := time.Now().Add(probePatience); ; {
		on, err := running(ctx)
		if err != nil {
			return b, fmt.Errorf("probe of the server: %w", err)
		}
		if !on {
			b.ServerStops = b.Honours
			break
		}
		if time.Now().After(deadline) {
			break
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return b, context.Cause(ctx)
		}
	}
	b.ConnectionReusable = c.PingContext(ctx) == nil
	return b, nil
}
