package budget

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Defaults of the cap on rejections.
const (
	// DefaultRejectionCap is the largest share of decisions that may be rejections resting on a value received from outside.
	DefaultRejectionCap = 0.20
	// RejectionWindow is the time over which the share is taken.
	RejectionWindow = 10 * time.Second
	// RejectionMinimum is the number of decisions in the window below which the cap does not act.
	RejectionMinimum = 100
)

// Control switches between off, shadow and enforce at run time, and caps the share of rejections that rest on a value
// received from outside, so that a caller or a clock gone bad cannot black out a service. A request keeps the mode it
// started with. The zero Control enforces, with the default cap. A Control is safe for concurrent use.
type Control struct {
	mode atomic.Value // budgetattr.Mode; enforce if nothing was stored

	mu      sync.Mutex
	share   float64
	origin  time.Time // zero until the first decision of a zero Control
	buckets [rejectionBuckets]rejectionBucket
}

const rejectionBuckets = 10

type rejectionBucket struct {
	tick                 int64
	decisions, rejection int
}

// ControlOption changes a new [Control].
type ControlOption struct{ share float64 }

// WithRejectionCap sets the largest share of external rejections, between 0 (none at all) and 1 (no cap).
func WithRejectionCap(share float64) ControlOption {
	return ControlOption{share: min(max(share, 0), 1)}
}

// NewControl returns a control in the given mode. An unknown mode means enforce.
func NewControl(mode budgetattr.Mode, opts ...ControlOption) *Control {
	c := &Control{share: DefaultRejectionCap, origin: time.Now()}
	for _, o := range opts {
		c.share = o.share
	}
	c.SetMode(mode)
	return c
}

// SetMode switches the mode for requests that start from now on.
func (c *Control) SetMode(mode budgetattr.Mode) {
	switch mode {
	case budgetattr.ModeOff, budgetattr.ModeShadow:
	default:
		mode = budgetattr.ModeEnforce
	}
	c.mode.Store(mode)
}

// Mode returns the mode in force.
func (c *Control) Mode() budgetattr.Mode {
	if mode, ok := c.mode.Load().(budgetattr.Mode); ok {
		return mode
	}
	return budgetattr.ModeEnforce
}

// decide counts one decision about a value received from outside and reports whether it may be a rejection.
func (c *Control) decide(now time.Time, reject bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.origin.IsZero() {
		c.origin, c.share = now, DefaultRejectionCap
	}
	tick := int64(now.Sub(c.origin) / (RejectionWindow / rejectionBuckets))
	b := &c.buckets[tick%rejectionBuckets]
	if b.tick != tick {
		*b = rejectionBucket{tick: tick}
	}
	b.decisions++
	if !reject {
		return false
	}
	decisions, rejected := 0, 0
	for _, b := range c.buckets {
		if tick-b.tick < rejectionBuckets {
			decisions += b.decisions
			rejected += b.rejection
		}
	}
	if decisions >= RejectionMinimum && float64(rejected+1) > c.share*float64(decisions) {
		return false
	}
	b.rejection++
	return true
}
