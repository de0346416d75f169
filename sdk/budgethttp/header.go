package budgethttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetattr"
	"github.com/laxity-dev/laxity/sdk/wire"
)

// Ask returns the remainder that the headers carry: the smallest valid value of all that are understood, absent if there is
// none.
func Ask(h http.Header) budget.Limit {
	var d time.Duration
	var ok bool
	d, ok = wire.Smallest(d, ok, h[budgetattr.HeaderTimeout], wire.ParseMillis)
	d, ok = wire.Smallest(d, ok, h[budgetattr.HeaderGRPCTimeout], wire.ParseGRPC)
	d, ok = wire.Smallest(d, ok, h[budgetattr.HeaderEnvoyTimeout], wire.ParseEnvoy)
	d, ok = wire.Smallest(d, ok, h[budgetattr.HeaderConnectTimeout], wire.ParseConnect)
	if !ok {
		return budget.Limit{}
	}
	return budget.LimitOf(d)
}

// maxAttempt bounds what is believed of an attempt's number.
const maxAttempt = 1000

// attemptOf returns the number of the attempt that the headers carry, 1 if none or nonsense.
func attemptOf(h http.Header) int {
	n, err := strconv.Atoi(h.Get(budgetattr.HeaderAttempt))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, maxAttempt)
}
