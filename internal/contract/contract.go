// Package contract holds what a route promises about its budget, as a file that is checked against what was measured. It is
// pure: reading, comparing, drafting.
package contract

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/laxity-dev/laxity/internal/span"
)

// Contract is what one route promises. Nil terms are not promised.
type Contract struct {
	Service, Route string
	// MinRequests is how many requests a window must hold to prove anything.
	MinRequests uint64

	Budget        *time.Duration // the most that a request is granted
	MinBudget     *time.Duration // the least that all but 5 % are granted
	Margins       []MarginTerm   // by share
	MissedRatio   *float64
	DegradedRatio *float64
	OrphanTime    *time.Duration // for each request, by all services together
	Retries       *uint64        // of any one call
	Stages        []Stage
}

// MarginTerm is the least margin at one percentile of answered requests.
type MarginTerm struct {
	Percentile string // of Percentiles
	Least      time.Duration
}

// Percentiles are those at which a margin can be promised.
var Percentiles = []string{"p01", "p05", "p10", "p25", "p50"}

// Shares are the percentiles as shares, in the same order.
var Shares = []float64{0.01, 0.05, 0.1, 0.25, 0.5}

// Stage is what one stage of the route promises. An empty peer means the calls of all peers together.
type Stage struct {
	Stage, Peer   string
	SpendP95      *time.Duration
	Reserve       *time.Duration // the least that a run leaves for what follows
	MinUseful     *time.Duration // the least allowance with which it starts
	DegradedRatio *float64
	Retries       *uint64
}

// Measured is what a route did in a window. What nothing tells of is nil.
type Measured struct {
	Service string `json:"service"`
	Route   string `json:"route"`
	// Requests counts requests with a budget that were seen; shares weigh them by what they stand for.
	Requests      uint64          `json:"requests"`
	Answered      uint64          `json:"answered"`
	BudgetMost    *span.Seconds   `json:"budget_max_s"`
	BudgetP05     *span.Seconds   `json:"budget_p05_s"`
	Margins       []*span.Seconds `json:"margins_s"` // at Percentiles
	MissedRatio   *float64        `json:"missed_ratio"`
	DegradedRatio *float64        `json:"degraded_ratio"`
	// OrphanTime is for each request; nil until a worker has judged.
	OrphanTime *span.Seconds   `json:"orphan_per_request_s"`
	Retries    *uint64         `json:"max_retries"`
	Stages     []StageMeasured `json:"stages"`
}

// StageMeasured is what one stage of the route did. The row with an empty peer is about all peers.
type StageMeasured struct {
	Stage         string        `json:"stage"`
	Peer          string        `json:"peer"`
	Calls         uint64        `json:"calls"`
	Runs          uint64        `json:"runs"`
	SpendP95      *span.Seconds `json:"spend_p95_s"`
	Reserve       *span.Seconds `json:"reserve_min_s"`
	Allowance     *span.Seconds `json:"allowance_min_s"`
	DegradedRatio *float64      `json:"degraded_ratio"`
	Retries       *uint64       `json:"max_retries"`
}

// Status of one promise.
type Status string

// The statuses. Unknown: too little was measured to say.
const (
	OK       Status = "ok"
	Violated Status = "violated"
	Unknown  Status = "unknown"
)

// Result is one promise beside what was measured. Promised and Measured are seconds, shares or counts, by Unit.
type Result struct {
	Promise  string   `json:"promise"`
	Stage    string   `json:"stage"`
	Peer     string   `json:"peer"`
	Unit     string   `json:"unit"`  // "s", "ratio" or ""
	Bound    string   `json:"bound"` // "at least" or "at most"
	Promised float64  `json:"promised"`
	Measured *float64 `json:"measured"`
	// N is how many requests or calls the measured value rests on.
	N uint64 `json:"n"`
	// Low and High enclose a measured share with 95 % confidence.
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Status Status   `json:"status"`
	// Why says why the status is unknown.
	Why string `json:"why"`
}

// checker compares the promises of one contract, or of one of its stages.
type checker struct {
	stage, peer string
	least       uint64
	none        bool // there was no request at all
	uncalled    bool // the stage was not called
	results     []Result
}

func (c *checker) add(promise, unit, bound string, promised float64, measured *float64, n uint64) {
	r := Result{Promise: promise, Stage: c.stage, Peer: c.peer, Unit: unit, Bound: bound, Promised: promised, Measured: measured, N: n, Status: OK}
	if unit == "ratio" && measured != nil && n > 0 {
		low, high := interval(*measured, n)
		r.Low, r.High = &low, &high
	}
	broken := measured != nil && (bound == "at least" && *measured < promised || bound == "at most" && *measured > promised)
	switch {
	case measured == nil && c.none:
		r.Status, r.Why = Unknown, "no request with a budget in this window"
	case measured == nil && c.uncalled:
		r.Status, r.Why = Unknown, "no call of this stage in this window"
	case measured == nil:
		r.Status, r.Why = Unknown, "not recorded"
	case n < c.least:
		r.Status, r.Why = Unknown, fmt.Sprintf("%d seen, %d needed", n, c.least)
	case broken:
		r.Status = Violated
	}
	c.results = append(c.results, r)
}

func (c *checker) seconds(promise, bound string, promised *time.Duration, measured *span.Seconds, n uint64) {
	if promised == nil {
		return
	}
	var value *float64
	if measured != nil {
		s := time.Duration(*measured).Seconds()
		value = &s
	}
	c.add(promise, "s", bound, promised.Seconds(), value, n)
}

func (c *checker) ratio(promise string, promised, measured *float64, n uint64) {
	if promised != nil {
		c.add(promise, "ratio", "at most", *promised, measured, n)
	}
}

func (c *checker) count(promise string, promised, measured *uint64, n uint64) {
	if promised == nil {
		return
	}
	var value *float64
	if measured != nil {
		f := float64(*measured)
		value = &f
	}
	c.add(promise, "", "at most", float64(*promised), value, n)
}

// Check compares every promise with what was measured, in the order of the documentation.
func Check(c Contract, m Measured) []Result {
	of := checker{least: c.MinRequests, none: m.Requests == 0}
	of.seconds("budget", "at most", c.Budget, m.BudgetMost, m.Requests)
	of.seconds("min_budget", "at least", c.MinBudget, m.BudgetP05, m.Requests)
	for _, term := range c.Margins {
		var measured *span.Seconds
		if i := slices.Index(Percentiles, term.Percentile); i < len(m.Margins) {
			measured = m.Margins[i]
		}
		of.seconds("margin "+term.Percentile, "at least", &term.Least, measured, m.Answered)
	}
	of.ratio("missed_ratio", c.MissedRatio, m.MissedRatio, m.Requests)
	of.ratio("degraded_ratio", c.DegradedRatio, m.DegradedRatio, m.Requests)
	of.seconds("orphan_per_request", "at most", c.OrphanTime, m.OrphanTime, m.Requests)
	of.count("max_retries", c.Retries, m.Retries, m.Requests)
	results := of.results
	for _, s := range c.Stages {
		var found StageMeasured
		for _, candidate := range m.Stages {
			if candidate.Stage == s.Stage && candidate.Peer == s.Peer {
				found = candidate
			}
		}
		// A stage that hardly ever runs may promise no less than the route; one call in ten requests proves as much.
		stage := checker{stage: s.Stage, peer: s.Peer, least: max(c.MinRequests/10, 1), none: m.Requests == 0, uncalled: found.Calls == 0}
		stage.seconds("spend_p95", "at most", s.SpendP95, found.SpendP95, found.Runs)
		stage.seconds("reserve", "at least", s.Reserve, found.Reserve, found.Runs)
		stage.seconds("min_useful", "at least", s.MinUseful, found.Allowance, found.Runs)
		stage.ratio("degraded_ratio", s.DegradedRatio, found.DegradedRatio, found.Calls)
		stage.count("max_retries", s.Retries, found.Retries, found.Calls)
		results = append(results, stage.results...)
	}
	return results
}

// Worst returns the gravest status: violated, unknown, ok.
func Worst(results []Result) Status {
	worst := OK
	for _, r := range results {
		if r.Status == Violated || r.Status == Unknown && worst == OK {
			worst = r.Status
		}
	}
	return worst
}

// interval is Wilson's for a share of n, 95 % sure.
func interval(share float64, n uint64) (low, high float64) {
	const z = 1.96
	count := float64(n)
	middle := share + z*z/(2*count)
	reach := z * math.Sqrt(share*(1-share)/count+z*z/(4*count*count))
	divide := 1 + z*z/count
	return max(0, (middle-reach)/divide), min(1, (middle+reach)/divide)
}

// Draft returns a contract that what was measured keeps, with room to move: a fifth on lengths, half again on shares, but no less than
// chance alone may move them.
func Draft(m Measured) Contract {
	c := Contract{Service: m.Service, Route: m.Route, MinRequests: min(DefaultMinRequests, max(m.Requests, 1))}
	if m.BudgetMost != nil {
		most := time.Duration(*m.BudgetMost)
		c.Budget = &most
	}
	if i := slices.Index(Percentiles, "p05"); i < len(m.Margins) && m.Margins[i] != nil {
		least := time.Duration(*m.Margins[i])
		c.Margins = []MarginTerm{{"p05", (least - least.Abs()/5).Truncate(time.Millisecond)}}
	}
	c.MissedRatio, c.DegradedRatio = roomy(m.MissedRatio, m.Requests), roomy(m.DegradedRatio, m.Requests)
	c.OrphanTime, c.Retries = longer(m.OrphanTime), m.Retries
	for _, s := range m.Stages {
		if s.Peer == "" && s.SpendP95 != nil && s.Runs >= max(c.MinRequests/10, 1) {
			c.Stages = append(c.Stages, Stage{Stage: s.Stage, SpendP95: longer(s.SpendP95), DegradedRatio: roomy(s.DegradedRatio, s.Calls), Retries: s.Retries})
		}
	}
	slices.SortFunc(c.Stages, func(a, b Stage) int { return cmp.Compare(a.Stage, b.Stage) })
	return c
}

// roomy adds half to a share of n, and no less than up to the end of its interval.
func roomy(share *float64, n uint64) *float64 {
	if share == nil || n == 0 {
		return nil
	}
	_, high := interval(*share, n)
	limit := min(math.Ceil(max(*share*1.5, high)*1000)/1000, 1)
	return &limit
}

// longer adds a fifth, up to whole milliseconds, and at least one.
func longer(measured *span.Seconds) *time.Duration {
	if measured == nil {
		return nil
	}
	d := time.Duration(*measured)
	d = max((d + d/5 + time.Millisecond - 1).Truncate(time.Millisecond), time.Millisecond)
	return &d
}
