package controllers

// What the operator may do, in its own namespace only, but for reading nodes and what node agents report of
// them. The chart's Role and ClusterRole are generated from these lines.

// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=core5gs;slices;upfinstances;subscribers,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=core5gs/status;slices/status;upfinstances/status;subscribers/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=core5g.dev,namespace=core5g,resources=core5gs/finalizers;slices/finalizers;upfinstances/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,namespace=core5g,resources=deployments,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",namespace=core5g,resources=services;configmaps;secrets;pods,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",namespace=core5g,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=k8s.cni.cncf.io,namespace=core5g,resources=network-attachment-definitions,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=core5g,resources=leases,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=policy,namespace=core5g,resources=poddisruptionbudgets,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=core5g.dev,resources=dataplanenodes,verbs=get;list;watch
