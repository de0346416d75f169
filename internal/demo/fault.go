package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Faults lists the names of all faults.
func Faults() []Fault {
	names := make([]Fault, len(menu))
	for i, m := range menu {
		names[i] = m.fault
	}
	return names
}

// DefaultRates is the mix that `laxity demo` plays when nothing else is asked for. The caller owns the map.
func DefaultRates() map[Fault]float64 {
	rates := make(map[Fault]float64, len(menu))
	for _, m := range menu {
		rates[m.fault] = m.rate
	}
	return rates
}

// ParseFault reads NAME or NAME=RATE; without a rate every request has the fault.
func ParseFault(text string) (Fault, float64, error) {
	name, share, given := strings.Cut(text, "=")
	fault, rate := Fault(name), 1.0
	if !slices.Contains(Faults(), fault) {
		return "", 0, fmt.Errorf("unknown fault %q; the faults are %s", name, joinFaults(Faults(), ", "))
	}
	if given {
		var err error
		if rate, err = strconv.ParseFloat(share, 64); err != nil || !validRate(rate) {
			return "", 0, fmt.Errorf("rate of fault %s: %q is not a number between 0 and 1", name, share)
		}
	}
	return fault, rate, nil
}

func validRate(r float64) bool { return r >= 0 && r <= 1 }

func joinFaults(faults []Fault, sep string) string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = string(f)
	}
	return strings.Join(names, sep)
}

// Effect is one fault that really took effect: when, in which span, and the service that caused it. One line of the fault
// log is one Effect; a fault may take effect more than once in a trace. Detail is for people.
type Effect struct {
	Time    time.Time `json:"time"`
	Fault   Fault     `json:"fault"`
	Service string    `json:"service"`
	TraceID string    `json:"trace_id"`
	SpanID  string    `json:"span_id"`
	Detail  string    `json:"detail"`
}

// Injector decides which requests get which faults and keeps the record of those that took effect. It is safe for
// concurrent use.
type Injector struct {
	mu     sync.Mutex
	rates  map[Fault]float64
	counts map[Fault]int64
	log    io.Writer
	notify func(Effect)
	logErr error
}

// NewInjector returns an injector with these rates. Every effect is written to log as one line of JSON and given to notify;
// both may be nil.
func NewInjector(rates map[Fault]float64, log io.Writer, notify func(Effect)) *Injector {
	return &Injector{rates: maps.Clone(rates), counts: map[Fault]int64{}, log: log, notify: notify}
}

// Set changes the share of requests, 0 to 1, that get the fault from now on.
func (i *Injector) Set(fault Fault, rate float64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rates == nil {
		i.rates = map[Fault]float64{}
	}
	i.rates[fault] = rate
}

// Err returns the first error of writing the log.
func (i *Injector) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.logErr
}

// plan draws the faults of one request.
func (i *Injector) plan(rng *rand.Rand) []Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	var faults []Fault
	for _, m := range menu {
		if rng.Float64() < i.rates[m.fault] {
			faults = append(faults, m.fault)
		}
	}
	return faults
}

// took records that the fault really happened in the span of the context.
func (i *Injector) took(ctx context.Context, fault Fault, service, detail string) {
	sc := trace.SpanContextFromContext(ctx)
	effect := Effect{
		Time: time.Now().UTC(), Fault: fault, Service: service, Detail: detail,
		TraceID: sc.TraceID().String(), SpanID: sc.SpanID().String(),
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counts[fault]++
	if i.log != nil {
		line, err := json.Marshal(effect)
		if err == nil {
			_, err = i.log.Write(append(line, '\n'))
		}
		if err != nil && i.logErr == nil {
			i.logErr = fmt.Errorf("fault log: %w", err)
		}
	}
	if i.notify != nil {
		i.notify(effect)
	}
}

// FaultState is one fault as the control endpoint shows it.
type FaultState struct {
	Name       Fault   `json:"name"`
	Service    string  `json:"service"`
	Rate       float64 `json:"rate"`
	TookEffect int64   `json:"took_effect"`
	About      string  `json:"about"`
}

// States lists every fault with its rate and how often it took effect.
func (i *Injector) States() []FaultState {
	i.mu.Lock()
	defer i.mu.Unlock()
	states := make([]FaultState, len(menu))
	for n, m := range menu {
		states[n] = FaultState{Name: m.fault, Service: m.service, Rate: i.rates[m.fault], TookEffect: i.counts[m.fault], About: m.about}
	}
	return states
}
