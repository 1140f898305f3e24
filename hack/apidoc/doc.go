// Command apidoc writes docs/api-reference.md, every field of every kind of core5g.dev with its type,
// default, bounds and meaning, from the custom resource definitions that controller-gen makes of the
// types in operators/api. What the types do not say, the reference cannot.
//
// Usage: apidoc [-root <repository>]
package main
