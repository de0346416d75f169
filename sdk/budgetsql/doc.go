// Package budgetsql puts budgets under database/sql: [NewConnector] wraps the connector of any driver, so that every
// statement is a hop of the request it is made for.
//
// What a driver does with a context that ends is its own: one cancels the statement in the server, another closes the
// connection and lets the statement run, a third ignores it. [Probe] finds out, and [WithBehaviour] makes the records say
// so.
//
// sql.Conn.Raw gives a connection of this package. The driver's own is behind it:
//
//	c.(interface{ Raw() driver.Conn }).Raw()
package budgetsql
