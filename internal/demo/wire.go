package demo

import (
	"net/http"
	"strconv"
	"time"

	"github.com/laxity-dev/laxity/sdk/budgetattr"
)

// tamper is what stands between a service and its peer and mishandles the remainder: a proxy that sets a timeout of its
// own, a client library that drops headers it does not know.
type tamper struct {
	service *service
	next    http.RoundTripper
}

func (t tamper) RoundTrip(r *http.Request) (*http.Response, error) {
	handed := r.Header.Get(budgetattr.HeaderTimeout)
	left, err := strconv.ParseInt(handed, 10, 64)
	if err != nil {
		return t.next.RoundTrip(r) // nothing to mishandle
	}
	ctx := r.Context()
	fresh := t.service.timing.limit(inheritedBudget).Milliseconds()
	switch {
	case fresh <= left:
	case t.service.name == "retrieval" && r.URL.Path == pathOrder && has(ctx, RenewedClock):
		r = r.Clone(ctx)
		r.Header.Set(budgetattr.HeaderTimeout, strconv.FormatInt(fresh, 10))
		t.service.faults.took(ctx, RenewedClock, t.service.name, "handed down "+milliseconds(fresh)+" of the "+milliseconds(left)+" left")
	case t.service.name == "validator" && has(ctx, DroppedHeader):
		r = r.Clone(ctx)
		r.Header.Del(budgetattr.HeaderTimeout)
		t.service.faults.took(ctx, DroppedHeader, t.service.name, "dropped the header with the "+milliseconds(left)+" left")
	}
	return t.next.RoundTrip(r)
}

func milliseconds(n int64) string { return (time.Duration(n) * time.Millisecond).String() }
