module github.com/laxity-dev/laxity/sdk/adapters

go 1.26.0

require github.com/laxity-dev/laxity/sdk v0.0.0

replace github.com/laxity-dev/laxity/sdk => ../
