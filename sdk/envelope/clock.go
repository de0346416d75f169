package envelope

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// DefaultTolerance is how far the clocks of two machines may differ where no reference tells.
const DefaultTolerance = time.Second

// Clock reads instants that other machines can compare. With a reference (see [Clock.Measure]) it corrects this machine's
// clock by its measured offset and reckons with the uncertainty of the measurement; without one it reckons with a stated
// tolerance. Either is taken off what is left of a unit, on the side of the writer and on that of the reader, so that no
// unit gains time. It is safe for concurrent use.
type Clock struct {
	tolerance time.Duration
	now       func() time.Time

	mu     sync.Mutex
	name   string
	offset time.Duration
	unsure time.Duration
	at     time.Time
}

// ClockOption changes a new [Clock].
type ClockOption struct {
	tolerance time.Duration
	now       func() time.Time
}

// WithTolerance states how far clocks may differ where there is no reference.
func WithTolerance(d time.Duration) ClockOption { return ClockOption{tolerance: max(d, 1)} }

// WithNow reads this machine's clock from now instead of time.Now.
func WithNow(now func() time.Time) ClockOption { return ClockOption{now: now} }

// NewClock returns a clock without a reference.
func NewClock(opts ...ClockOption) *Clock {
	c := &Clock{tolerance: DefaultTolerance, now: time.Now}
	for _, o := range opts {
		if o.tolerance > 0 {
			c.tolerance = o.tolerance
		}
		if o.now != nil {
			c.now = o.now
		}
	}
	return c
}

// drift is how much a clock may have run away, per unit of time, since it was measured: 100 parts per million is more than
// an uncorrected quartz does.
const drift = 1e-4

// Measure asks a reference for its time, several times, and keeps the best answer. read returns the reference's time at some
// moment during the call. Call it at the start and every few minutes. name tells references apart: a broker, a database.
func (c *Clock) Measure(ctx context.Context, name string, read func(context.Context) (time.Time, error)) error {
	for range 3 {
		before := c.now()
		began := time.Now()
		reference, err := read(ctx)
		took := time.Since(began)
		if err != nil {
			return fmt.Errorf("clock of %s: %w", name, err)
		}
		half := took / 2
		c.take(name, before, reference.Sub(before.Add(half)), took-half)
	}
	return nil
}

func (c *Clock) take(name string, at time.Time, offset, unsure time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// An answer that does not fit the one before means that a clock was set since.
	set := (offset - c.offset).Abs() > unsure+c.unsureAt(at)
	if c.name != name || set || unsure <= c.unsureAt(at) {
		c.name, c.offset, c.unsure, c.at = name, offset, unsure, at
	}
}

func (c *Clock) unsureAt(now time.Time) time.Duration {
	return c.unsure + time.Duration(float64(max(now.Sub(c.at), 0))*drift)
}

// Reading is one look at a clock.
type Reading struct {
	// At is the present instant, by the reference if there is one.
	At time.Time
	// Unsure is how far At may be wrong: that of the measurement, or the stated tolerance.
	Unsure time.Duration
	// Reference names the reference; empty if At is this machine's own time.
	Reference string
}

// Read looks at the clock.
func (c *Clock) Read() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if c.name == "" {
		return Reading{At: now.UTC().Round(0), Unsure: c.tolerance}
	}
	return Reading{At: now.Add(c.offset).UTC().Round(0), Unsure: c.unsureAt(now), Reference: c.name}
}

// against returns the reading to hold against an instant written by the named reference. If that is not this clock's, only
// this machine's own time and the tolerance say something.
func (c *Clock) against(reference string) Reading {
	r := c.Read()
	if r.Reference == reference {
		return r
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return Reading{At: c.now().UTC().Round(0), Unsure: c.tolerance}
}
