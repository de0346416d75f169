package budgethttp

import (
	"net/http"
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
