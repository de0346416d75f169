package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// Load says how much traffic to make. Both bounds zero means until the context ends.
type Load struct {
	Rate        float64 // requests per second; 0 means as many as Concurrency allows
	Requests    int
	Duration    time.Duration
	Concurrency int // requests under way at once; what comes on top waits
	Seed        uint64
	Route       string // the one route of the edge to ask, such as /v1/report; "" for a mix
}

// Validate reports the first setting that makes no sense.
func (l Load) Validate() error {
	switch {
	case l.Rate < 0 || l.Rate > 10_000:
		return fmt.Errorf("rate %v is not between 0 and 10000 requests per second", l.Rate)
	case l.Requests < 0 || l.Duration < 0:
		return errors.New("requests and duration must not be negative")
	case l.Concurrency < 1 || l.Concurrency > 10_000:
		return fmt.Errorf("concurrency %d is not between 1 and 10000", l.Concurrency)
	case l.Route != "" && budgets[l.Route] == 0:
		return fmt.Errorf("the edge has no route %s; its routes are %s", l.Route, strings.Join(slices.Sorted(maps.Keys(budgets)), ", "))
	}
	return nil
}

// Answers counts what clients got, by status; 0 stands for no answer.
type Answers map[int]int

// Load sends requests to the edge until one of its bounds is reached or the context ends, and waits for their answers.
func (d *Demo) Load(ctx context.Context, l Load) (Answers, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	if l.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.Duration)
		defer cancel()
	}
	var (
		mu      sync.Mutex
		answers = Answers{}
		running sync.WaitGroup
		slots   = make(chan struct{}, l.Concurrency)
		rng     = rand.New(rand.NewPCG(l.Seed, 1))
		begin   = time.Now()
	)
	for n := 0; l.Requests == 0 || n < l.Requests; n++ {
		if l.Rate > 0 && work(ctx, time.Until(begin.Add(time.Duration(float64(n)/l.Rate*float64(time.Second))))) != nil {
			break
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		client := d.nextClient(rng, l.Route)
		running.Go(func() {
			defer func() { <-slots }()
			// Requests under way are finished when the load ends, so that no client seems to leave.
			status := client.send(context.WithoutCancel(ctx))
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
		})
	}
	running.Wait()
	return answers, nil
}

// client is one request as a client makes it.
type client struct {
	http    *http.Client
	url     string
	body    question
	ask     time.Duration // 0: leave the budget to the edge
	leave   time.Duration // 0: stay for the answer
	patient time.Duration
	request request
	calls   *sync.Map // see Demo.clients
}

// Send sends one request to the edge that asks for these faults, and returns the status of the answer, 0 if there was none. The
// same seed draws the same latencies and asks for the same budget.
func (d *Demo) Send(ctx context.Context, seed uint64, faults ...Fault) int {
	return d.clientOf(rand.New(rand.NewPCG(seed, 0)), faults, "").send(ctx)
}

// nextClient draws the faults of the next request and all else.
func (d *Demo) nextClient(rng *rand.Rand, only string) client {
	return d.clientOf(rng, d.faults.plan(rng), only)
}

// clientOf draws route, unless only one is wanted, and budget. A request with a fault goes down the whole chain.
func (d *Demo) clientOf(rng *rand.Rand, faults []Fault, only string) client {
	c := client{
		http: d.client, calls: &d.clients, patient: d.timing.limit(budgetAnswer) + 10*time.Second,
		body:    question{Account: rng.IntN(accountCount), Text: "what changed in the last release?"},
		request: request{number: rng.Uint64(), faults: faults},
	}
	route := routeAnswer
	dice, asks := rng.Float64(), rng.Float64() < 0.5
	if len(c.request.faults) == 0 {
		switch {
		case only != "":
			route = only
		case dice < 0.15:
			route = routeAccount
		case dice < 0.35:
			route = routeSearch
		case dice < 0.45:
			route = routeReport
		}
	}
	c.url = d.edge.url + route
	if asks {
		c.ask = d.timing.limit(budgets[route])
	}
	if slices.Contains(c.request.faults, TightBudget) {
		c.ask = d.timing.work(typicalWork * 4 / 10)
	}
	if slices.Contains(c.request.faults, ClientLeaves) {
		c.leave = d.timing.work(typicalWork / 2)
	}
	return c
}

// send returns the status of the answer, 0 if there was none.
func (c client) send(ctx context.Context) int {
	stay := c.patient
	if c.leave > 0 {
		stay = c.leave
	}
	ctx, cancel := context.WithTimeout(ctx, stay)
	defer cancel()
	c.calls.Store(c.request.number, cancel)
	defer c.calls.Delete(c.request.number)
	body, err := json.Marshal(c.body)
	if err != nil {
		return 0
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set(planHeader, c.request.header())
	if c.ask > 0 {
		req.Header.Set(budgetattr.HeaderTimeout, strconv.FormatInt(c.ask.Milliseconds(), 10))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}
