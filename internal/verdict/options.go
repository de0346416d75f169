package verdict

import (
	"time"

	"github.com/laxity-dev/laxity/internal/span"
)

// Edge is a caller and what it calls. An empty field matches anything, so {Peer: "adservice"} is every call of it.
type Edge struct {
	Caller string `json:"caller" yaml:"caller" mapstructure:"caller"`
	Peer   string `json:"peer" yaml:"peer" mapstructure:"peer"`
	// Operation is the name of the calling span or its deadline.stage.
	Operation string `json:"operation" yaml:"operation" mapstructure:"operation"`
}

// Options steer Judge. The zero value means: account holder by rule, default thresholds, nothing known from outside.
type Options struct {
	// Entry picks another account holder; the statement and its findings then cover that span and what is below it.
	Entry span.ID
	// Limits are timeouts known from configuration, or found in many traces, although no span records them: a call that
	// ends at its limit counts as cut by it.
	Limits map[Edge]time.Duration
	// Hidden are limits found in the lengths of many calls; a call whose limit is in Limits does not ask here.
	Hidden map[Edge]HiddenLimit
	// Offsets, if not nil, answers what many traces tell about the clocks of two machines around a time.
	Offsets Offsets
	// Usual is the median time of a call, to find hopeless starts.
	Usual      map[Edge]time.Duration
	Thresholds Thresholds
}

// HiddenLimit is a limit that nobody recorded: at least Calls piled up at At, the shortest after From, the longest after To.
type HiddenLimit struct {
	At, From, To time.Duration
	Calls        int
}

// Offsets knows by how much one machine's clock runs ahead of another's, learned from many traces.
type Offsets interface {
	// Between returns bounds of the offset of the called machine's clock around a time of the calling one's, nanoseconds
	// since 1970; ok is false where nothing is known or no offset is needed. Machines are named as by MachineOf.
	Between(caller, callee string, at int64) (low, high time.Duration, calls int, ok bool)
}

// Thresholds of the findings. A zero field means its default.
type Thresholds struct {
	// Excess and ExcessShare: a child outlives its caller's wait only beyond max(Excess, ExcessShare × wait). 1 ms, 0.001.
	Excess      time.Duration `yaml:"excess" mapstructure:"excess"`
	ExcessShare float64       `yaml:"excess_share" mapstructure:"excess_share"`
	// Orphan is the shortest orphan work that is a finding; shorter is a line of the statement alone. A cancellation needs a
	// moment to reach the work and to be noticed there, and until then the best of services goes on. 10 ms.
	Orphan time.Duration `yaml:"orphan" mapstructure:"orphan"`
	// PostCancel is how much work after a cancellation signal, beyond clean-up, is a finding. 100 ms.
	PostCancel time.Duration `yaml:"post_cancel" mapstructure:"post_cancel"`
	// LocalSpendShare of the received budget before the first downstream call. 0.5.
	LocalSpendShare float64 `yaml:"local_spend_share" mapstructure:"local_spend_share"`
	// Renewed is how much more than its parent's remainder a child may receive. 1 ms.
	Renewed time.Duration `yaml:"renewed" mapstructure:"renewed"`
	// Reserve and ReserveShare: a reserve is eaten beyond max(Reserve, ReserveShare × reserve). 1 ms, 0.1: a call that is cut
	// in time to leave its reserve still takes a moment to return.
	Reserve      time.Duration `yaml:"reserve" mapstructure:"reserve"`
	ReserveShare float64       `yaml:"reserve_share" mapstructure:"reserve_share"`
	// Skew is the smallest contradiction between two clocks that is reported. 1 ms.
	Skew time.Duration `yaml:"skew" mapstructure:"skew"`
	// Limit and LimitShare: a call ended at its known limit if it is within max(Limit, LimitShare × limit) of it. 2 ms, 0.002.
	Limit      time.Duration `yaml:"limit" mapstructure:"limit"`
	LimitShare float64       `yaml:"limit_share" mapstructure:"limit_share"`
}

func (t Thresholds) withDefaults() Thresholds {
	duration := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	share := func(f *float64, def float64) {
		if *f == 0 {
			*f = def
		}
	}
	duration(&t.Excess, time.Millisecond)
	share(&t.ExcessShare, 0.001)
	duration(&t.Orphan, 10*time.Millisecond)
	duration(&t.PostCancel, 100*time.Millisecond)
	share(&t.LocalSpendShare, 0.5)
	duration(&t.Renewed, time.Millisecond)
	duration(&t.Reserve, time.Millisecond)
	share(&t.ReserveShare, 0.1)
	duration(&t.Skew, time.Millisecond)
	duration(&t.Limit, 2*time.Millisecond)
	share(&t.LimitShare, 0.002)
	return t
}

// excess reports whether a child that outlives a wait by so much is beyond tolerance.
func (t Thresholds) excess(by, wait int64) bool {
	return by > int64(t.Excess) && float64(by) > t.ExcessShare*float64(wait)
}

// eaten reports whether a hop left too little of the reserve it had to leave.
func (t Thresholds) eaten(reserve, left time.Duration) bool {
	by := reserve - left
	return by > t.Reserve && float64(by) > t.ReserveShare*float64(reserve)
}

// atLimit reports whether a call of this length ended at the limit.
func (t Thresholds) atLimit(length, limit int64) bool {
	off := length - limit
	if off < 0 {
		off = -off
	}
	return off <= int64(t.Limit) || float64(off) <= t.LimitShare*float64(limit)
}

// lookup finds the most specific entry for a call.
func lookup[T any](m map[Edge]T, caller, peer, operation, stage string) (found T, ok bool) {
	if len(m) == 0 {
		return found, false
	}
	for _, op := range [...]string{stage, operation, ""} {
		for _, e := range [...]Edge{{caller, peer, op}, {"", peer, op}, {caller, "", op}, {"", "", op}} {
			if d, ok := m[e]; ok && e != (Edge{}) {
				return d, true
			}
		}
	}
	return found, false
}
