package demo

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// planHeader carries, from service to service, the number of the request and its faults: "17", "17 freeze",
// "17 freeze,late_result". It belongs to the play, not to the product. Sending it by hand asks for a fault.
const planHeader = "Laxity-Demo"

// request is what the services know about the play: which draw of latencies and which faults.
type request struct {
	number uint64
	faults []Fault
	left   <-chan struct{} // closed when the caller of this service has closed the connection
}

type requestKey struct{}

func withRequest(ctx context.Context, r request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

func requestFrom(ctx context.Context) request {
	r, _ := ctx.Value(requestKey{}).(request)
	return r
}

// has reports whether the request of the context carries the fault.
func has(ctx context.Context, fault Fault) bool {
	return slices.Contains(requestFrom(ctx).faults, fault)
}

func (r request) header() string {
	text := strconv.FormatUint(r.number, 10)
	if len(r.faults) == 0 {
		return text
	}
	return text + " " + joinFaults(r.faults, ",")
}

// parseRequest reads the header; what it does not understand it leaves out. Without a number one is drawn.
func parseRequest(text string) request {
	var r request
	number, names, _ := strings.Cut(strings.TrimSpace(text), " ")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		n, names = rand.Uint64(), text
	}
	r.number = n
	for name := range strings.SplitSeq(names, ",") {
		if f := Fault(strings.TrimSpace(name)); slices.Contains(Faults(), f) {
			r.faults = append(r.faults, f)
		}
	}
	return r
}

// carryRequest puts the header of an incoming request into its context.
func carryRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		play := parseRequest(r.Header.Get(planHeader))
		play.left = r.Context().Done()
		next.ServeHTTP(w, r.WithContext(withRequest(r.Context(), play)))
	})
}

// planTransport sets the header on outgoing requests. In shadow, in which the sdk leaves headers alone, it hands on what is
// left, as a proxy beside the service would.
type planTransport struct{ next http.RoundTripper }

func (t planTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(planHeader, requestFrom(r.Context()).header())
	if left, ok := budget.Remaining(r.Context()); ok && budget.ModeOf(r.Context()) == budgetattr.ModeShadow {
		r.Header.Set(budgetattr.HeaderTimeout, wire.FormatMillis(left))
	}
	return t.next.RoundTrip(r)
}

// Timing compresses the play: Work multiplies how long services work, Limits budgets, caps and waits. 1 and 1 is real time.
type Timing struct{ Work, Limits float64 }

func (t Timing) work(d time.Duration) time.Duration  { return time.Duration(float64(d) * t.Work) }
func (t Timing) limit(d time.Duration) time.Duration { return time.Duration(float64(d) * t.Limits) }

// latency draws how long a piece of work takes in one request: log-normal around the median, between half and three times.
// The same request and name always give the same answer.
func latency(number uint64, name string, median time.Duration) time.Duration {
	h := fnv.New64a()
	h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(number, h.Sum64()))
	factor := math.Exp(0.25 * rng.NormFloat64())
	return time.Duration(float64(median) * min(max(factor, 0.5), 3))
}

// work spends time on the request as a service that honours cancellation does.
func work(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
