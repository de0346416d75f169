package budgetsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/laxity-dev/laxity/sdk/budget"
	"github.com/laxity-dev/laxity/sdk/budgetsql"
)

// Any driver's connector, wrapped.
func ExampleNewConnector() {
	driver := &fakeDriver{modern: true, takes: time.Minute} // stands for the connector of a real driver
	db := sql.OpenDB(budgetsql.NewConnector(driver, budgetsql.WithSystem("postgresql"), budgetsql.WithPeer("orders")))
	defer db.Close()

	ctx, entry, _ := budget.NewEdge(budget.Policy{Default: 50 * time.Millisecond}).Start(context.Background(), budget.Arrival{Name: "request"})
	_, err := db.ExecContext(ctx, "UPDATE orders SET state = 'paid'")
	if e, ok := errors.AsType[*budget.ExhaustedError](err); ok {
		fmt.Println(e.Stage, e.Phase)
	}
	entry.End(err)
	// Output: postgresql UPDATE db_execution
}

// What a driver really does when time is up.
func ExampleProbe() {
	driver := &fakeDriver{modern: true, takes: 3 * time.Second}
	db := sql.OpenDB(driver)
	defer db.Close()
	behaviour, err := budgetsql.Probe(context.Background(), db, "SELECT pg_sleep(3)", func(context.Context) (bool, error) {
		return driver.running.Load() > 0, nil // on PostgreSQL: ask pg_stat_activity
	})
	fmt.Println(behaviour, err)
	// Output: cancels the statement in the server, keeps the connection <nil>
}
