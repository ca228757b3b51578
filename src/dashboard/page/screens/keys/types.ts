import type { components } from '../../api/schema/admin.js';

export type AdminKey = components['schemas']['AdminKey'];
