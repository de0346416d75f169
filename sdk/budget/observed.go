package budget

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"sync"
	"time"
)

// Limits are bounds per dependency, derived from measured latency, as a policy file holds them. They do not change and are
// safe for concurrent use.
type Limits struct {
	byStage map[limitKey]DependencyLimits
}

type limitKey struct{ stage, peer string }

// DependencyLimits are the bounds of one dependency.
type DependencyLimits struct {
	Cap, Observed      Limit
	Reserve, MinUseful time.Duration
}

// PolicyFileVersion is the version of the policy file that this package reads.
const PolicyFileVersion = 1

// policyFile is the shape of the file. Durations are in seconds; what is missing does not bound.
type policyFile struct {
	Version                  int     `json:"version"`
	AcceptedFalseTimeoutRate float64 `json:"accepted_false_timeout_rate"`
	Dependencies             []struct {
		Service        string   `json:"service"`
		Stage          string   `json:"stage"`
		Peer           string   `json:"peer"`
		CapS           *float64 `json:"cap_s"`
		ObservedLimitS *float64 `json:"observed_limit_s"`
		ReserveS       float64  `json:"reserve_s"`
		MinUsefulS     float64  `json:"min_useful_s"`
	} `json:"dependencies"`
}

// LoadLimits reads a policy file for the service; entries that name another service are left out.
func LoadLimits(path, service string) (*Limits, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("policy file: %w", err)
	}
	defer f.Close()
	return ReadLimits(f, service)
}

// ReadLimits reads a policy file as [LoadLimits] does:
//
//	{"version": 1, "accepted_false_timeout_rate": 0.001, "dependencies": [
//	  {"service": "chat", "stage": "rerank", "peer": "reranker",
//	   "cap_s": 1.5, "observed_limit_s": 0.42, "reserve_s": 0.05, "min_useful_s": 0.15}]}
//
// Durations are in seconds. Service, stage and peer may be missing and then mean any; a bound that is missing does not bound.
// Values that are negative, not finite or too large are errors.
func ReadLimits(r io.Reader, service string) (*Limits, error) {
	var file policyFile
	if err := json.NewDecoder(r).Decode(&file); err != nil {
		return nil, fmt.Errorf("policy file: %w", err)
	}
	if file.Version != PolicyFileVersion {
		return nil, fmt.Errorf("policy file: version %d is not %d", file.Version, PolicyFileVersion)
	}
	l := &Limits{byStage: make(map[limitKey]DependencyLimits, len(file.Dependencies))}
	for i, d := range file.Dependencies {
		if d.Service != "" && d.Service != service {
			continue
		}
		var out DependencyLimits
		var err error
		amount := func(s float64) time.Duration {
			v, e := Seconds(s)
			if e == nil && v < 0 {
				e = fmt.Errorf("%w: %v seconds is negative", ErrTerms, s)
			}
			if e != nil && err == nil {
				err = e
			}
			return v
		}
		if d.CapS != nil {
			out.Cap = LimitOf(amount(*d.CapS))
		}
		if d.ObservedLimitS != nil {
			out.Observed = LimitOf(amount(*d.ObservedLimitS))
		}
		out.Reserve, out.MinUseful = amount(d.ReserveS), amount(d.MinUsefulS)
		if err != nil {
			return nil, fmt.Errorf("policy file: dependency %d (%s): %w", i, d.Stage, err)
		}
		l.byStage[limitKey{d.Stage, d.Peer}] = out
	}
	return l, nil
}

// Lookup returns the bounds of a stage at a peer, else those of the stage at any peer, else those of the peer.
func (l *Limits) Lookup(stage, peer string) (DependencyLimits, bool) {
	for _, k := range [...]limitKey{{stage, peer}, {stage, ""}, {"", peer}} {
		if d, ok := l.byStage[k]; ok && k != (limitKey{}) {
			return d, true
		}
	}
	return DependencyLimits{}, false
}

// Defaults of an [Estimator].
const (
	// DefaultFalseTimeoutRate is the share of good calls that an observed limit may cut.
	DefaultFalseTimeoutRate = 0.001
	// EstimatorMinSamples is the number of calls below which nothing is estimated.
	EstimatorMinSamples = 100
	// EstimatorPeriod is the age at which samples begin to be forgotten.
	EstimatorPeriod = 5 * time.Minute

	estimatorDependencies = 1000
)

// Estimator derives observed limits in the process itself: the quantile of measured latency that cuts no more than the
// accepted share of good calls. Calls that were cut count as far longer than they lasted, so that a limit never tightens
// itself. It keeps a fixed-size histogram for each of at most a thousand dependencies and is safe for concurrent use.
type Estimator struct {
	rate float64
	mu   sync.RWMutex
	deps map[limitKey]*latency
}

// NewEstimator returns an estimator that accepts the given rate of false timeouts, between 0 and 1; anything else means
// [DefaultFalseTimeoutRate].
func NewEstimator(falseTimeoutRate float64) *Estimator {
	if !(falseTimeoutRate > 0 && falseTimeoutRate < 1) {
		falseTimeoutRate = DefaultFalseTimeoutRate
	}
	return &Estimator{rate: falseTimeoutRate, deps: map[limitKey]*latency{}}
}

// Observe adds the duration of one call. cut says that the call did not finish by itself.
func (e *Estimator) Observe(stage, peer string, d time.Duration, cut bool) {
	k := limitKey{stage, peer}
	e.mu.RLock()
	l := e.deps[k]
	e.mu.RUnlock()
	if l == nil {
		e.mu.Lock()
		if l = e.deps[k]; l == nil && len(e.deps) < estimatorDependencies {
			l = &latency{turned: time.Now()}
			e.deps[k] = l
		}
		e.mu.Unlock()
		if l == nil {
			return
		}
	}
	if cut {
		d *= 4
	}
	l.observe(time.Now(), d)
}

// Limit returns the bound of a dependency; absent below [EstimatorMinSamples] calls.
func (e *Estimator) Limit(stage, peer string) Limit {
	e.mu.RLock()
	l := e.deps[limitKey{stage, peer}]
	e.mu.RUnlock()
	if l == nil {
		return Limit{}
	}
	return l.limit(e.rate)
}

const (
	stepsPerOctave = 8
	latencyBuckets = 48 * stepsPerOctave
)

// latency is a histogram with buckets 9 % apart, in two generations so that old samples fade.
type latency struct {
	mu       sync.Mutex
	turned   time.Time
	now, old [latencyBuckets]uint32
	nowN     uint64
	oldN     uint64
	cached   Limit
	cachedN  uint64
}

func (l *latency) observe(now time.Time, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.turned) >= EstimatorPeriod && l.nowN >= EstimatorMinSamples {
		l.old, l.oldN = l.now, l.nowN
		l.now, l.nowN, l.turned = [latencyBuckets]uint32{}, 0, now
	}
	l.now[bucketOf(d)]++
	l.nowN++
}

func (l *latency) limit(rate float64) Limit {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.nowN + l.oldN
	if n < EstimatorMinSamples {
		return Limit{}
	}
	if l.cached.set && n >= l.cachedN && n-l.cachedN < max(n/64, 1) {
		return l.cached
	}
	// With too few samples to see the quantile, twice the longest call is the bound.
	spare := uint64(float64(n) * rate)
	var above uint64
	for i := latencyBuckets - 1; i >= 0; i-- {
		above += uint64(l.now[i]) + uint64(l.old[i])
		if above > spare {
			d := upperEdge(i)
			if spare == 0 {
				d *= 2
			}
			l.cached, l.cachedN = LimitOf(d), n
			return l.cached
		}
	}
	return Limit{}
}

// bucketOf returns the bucket of a duration: the octave of its microseconds, and an eighth of it.
func bucketOf(d time.Duration) int {
	us := uint64(max(d/time.Microsecond, 1))
	octave := bits.Len64(us) - 1
	fraction := math.Log2(float64(us)) - float64(octave)
	return min(octave*stepsPerOctave+int(fraction*stepsPerOctave), latencyBuckets-1)
}

// upperEdge returns the longest duration of a bucket.
func upperEdge(i int) time.Duration {
	us := math.Exp2(float64(i+1) / stepsPerOctave)
	return time.Duration(us * float64(time.Microsecond))
}
