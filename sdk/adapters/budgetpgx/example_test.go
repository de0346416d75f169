package budgetpgx_test

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/laxity-dev/laxity/sdk/adapters/budgetpgx"
)

// A pool whose statements are hops.
func ExampleConfigurePool() {
	cfg, err := pgxpool.ParseConfig("postgres://localhost/orders")
	if err != nil {
		panic(err)
	}
	budgetpgx.ConfigurePool(cfg, budgetpgx.WithPeer("orders"))
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		panic(err)
	}
	defer pool.Close()
}
